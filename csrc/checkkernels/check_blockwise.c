#include "check.h"
#include "checks.h"

#include <math.h>

#include "blockwise/blockwise.h"

/* A panel of random weights, with their sums. */
static void *random_panel(nnf_check *c, size_t blocks, size_t groups)
{
    const size_t size = nnf_blockwise_block(groups);
    unsigned char *panel = nnf_check_alloc(c, blocks * size);
    for (size_t b = 0; b < blocks; b++) {
        int32_t *sums = (int32_t *)(panel + b * size);
        float *scales = (float *)(sums + NNF_BLOCKWISE_N);
        uint8_t *w = (uint8_t *)(scales + NNF_BLOCKWISE_N);
        for (size_t j = 0; j < NNF_BLOCKWISE_N; j++) {
            sums[j] = 0;
            scales[j] = nnf_check_float(c, -0.1f, 0.1f);
            for (size_t g = 0; g < groups; g++) {
                for (size_t k = 0; k < NNF_BLOCKWISE_GROUP / 2; k++) {
                    /* Whole columns of the lowest and the highest weight too. */
                    const int low = j == 0 ? -8 : j == 1 ? 7 : (int)nnf_check_below(c, 16) - 8;
                    const int high = j < 2 ? low : (int)nnf_check_below(c, 16) - 8;
                    w[(g * NNF_BLOCKWISE_N + j) * (NNF_BLOCKWISE_GROUP / 2) + k] = (uint8_t)((low & 15) | (high & 15) << 4);
                    sums[j] += low + high;
                }
            }
        }
    }
    return panel;
}

/* The sums of each row's blocks. */
static int32_t *firsts_of(nnf_check *c, const uint8_t *x, size_t ldx, size_t rows, size_t blocks, size_t groups)
{
    int32_t *firsts = nnf_check_alloc(c, 4 * rows * blocks);
    for (size_t i = 0; i < rows * blocks; i++)
        firsts[i] = nnf_blockwise_firsts(groups, x + i / blocks * ldx + i % blocks * groups * NNF_BLOCKWISE_GROUP);
    return firsts;
}

void nnf_check_blockwise_qu8_qs8_f32_tile(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_blockwise_qu8_qs8_f32_tile_fn slow = (nnf_blockwise_qu8_qs8_f32_tile_fn)twin->fn;
    const nnf_blockwise_qu8_qs8_f32_tile_fn fast = (nnf_blockwise_qu8_qs8_f32_tile_fn)kernel->fn;
    static const size_t depths[] = {1, 2, 7, 8, 9, 16, 33};
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
        for (size_t form = 0; form < 64; form++) {
            const size_t rows = 1 + form % NNF_BLOCKWISE_M, columns = form % 3 ? 1 + nnf_check_below(c, 16) : 16;
            const size_t groups = depths[d], blocks = 1 + form % 5, depth = blocks * groups * NNF_BLOCKWISE_GROUP;
            const size_t ldx = depth + form % 2, ldy = columns + form % 7, count = (rows - 1) * ldy + columns;
            uint8_t *x = nnf_check_alloc(c, (rows - 1) * ldx + depth);
            float *bias = nnf_check_alloc(c, 4 * columns);
            float *expected = nnf_check_alloc(c, 4 * count), *actual = nnf_check_alloc(c, 4 * count);
            nnf_row_codes *row = nnf_check_alloc(c, rows * sizeof *row);
            for (size_t i = 0; i < (rows - 1) * ldx + depth; i++)
                x[i] = form & 16 ? 255 : (uint8_t)nnf_check_below(c, 256);
            for (size_t i = 0; i < rows; i++) {
                row[i].step = form & 32 ? INFINITY : nnf_check_float(c, 0.001f, 0.1f);
                row[i].zero = (int32_t)nnf_check_below(c, 256);
            }
            nnf_check_fill_f32(c, bias, columns, -3, 3);
            nnf_check_fill_f32(c, expected, count, 0, 0);
            nnf_check_fill_f32(c, actual, count, 0, 0);
            nnf_blockwise_tile t = {.rows = rows, .columns = columns, .blocks = blocks, .groups = groups, .x = x,
                                    .ldx = ldx, .firsts = firsts_of(c, x, ldx, rows, blocks, groups), .row = row,
                                    .panel = random_panel(c, blocks, groups), .bias = bias, .y = expected, .ldy = ldy, .lo = form & 4 ? 0 : -INFINITY,
                                    .hi = form & 8 ? 6 : INFINITY};
            slow(&t);
            t.y = actual;
            fast(&t);
            nnf_check_f32(c, expected, actual, count, NULL, 0);
            nnf_check_done(c, "groups=%zu form=%zu", groups, form);
        }
    }
    const size_t blocks = 32, groups = 4, depth = blocks * groups * NNF_BLOCKWISE_GROUP;
    uint8_t *x = nnf_check_alloc(c, depth);
    float *bias = nnf_check_alloc(c, 64), *y = nnf_check_alloc(c, 64);
    const nnf_row_codes row = {.step = 0.01f, .zero = 120};
    for (size_t i = 0; i < depth; i++)
        x[i] = (uint8_t)nnf_check_below(c, 256);
    nnf_check_fill_f32(c, bias, 16, -1, 1);
    const nnf_blockwise_tile t = {.rows = 1, .columns = 16, .blocks = blocks, .groups = groups, .x = x, .ldx = depth,
                                  .firsts = firsts_of(c, x, depth, 1, blocks, groups), .row = &row,
                                  .panel = random_panel(c, blocks, groups), .bias = bias, .y = y, .ldy = 16,
                                  .lo = -INFINITY, .hi = INFINITY};
    NNF_BENCH(c, "1x1024x16", 16 * depth, fast(&t));
    nnf_check_done(c, "bench");
}
