#include "check.h"
#include "checks.h"

#include <stdio.h>
#include <string.h>

#include "conv2d/conv2d.h"

enum { BLOCK = NNF_CONV2D_Q8_BLOCK, MOST_BLOCKS = 5 };

typedef struct problem {
    size_t rows, lines, columns, blocks, lda, line;
    uint32_t at[MOST_BLOCKS];
    nnf_conv2d_q8_scheme scheme;
    const uint8_t *x, *weights;
    const int32_t *offset;
    int32_t zero_point, lo, hi;
    uint8_t flip;
} problem;

static nnf_conv2d_q8_lines job_of(const problem *p)
{
    return (nnf_conv2d_q8_lines){
        .tile = {.rows = p->rows, .groups = p->blocks * BLOCK / 4, .a = p->x, .lda = p->lda, .offset = p->offset,
                 .ldc = p->columns, .zero_point = p->zero_point, .lo = p->lo, .hi = p->hi, .flip = p->flip},
        .lines = p->lines, .line = p->line, .at = p->at,
    };
}

/* step: columns of a call. */
static void multiply(nnf_check *c, const nnf_kernel *kernel, const problem *p, size_t step, uint8_t *y)
{
    const size_t n = (size_t)kernel->n, k = (size_t)kernel->k, depth = p->blocks * BLOCK;
    unsigned char *packed = nnf_check_alloc(c, nnf_pack_conv2d_q8_size(p->columns, depth, n, k));
    nnf_pack_conv2d_q8(p->columns, depth, n, k, p->weights, depth, &p->scheme, packed);
    for (size_t j = 0; j < p->columns; j += step) {
        nnf_conv2d_q8_lines job = job_of(p);
        job.tile.columns = p->columns - j < step ? p->columns - j : step;
        job.tile.w = (const int32_t *)(packed + j / n * nnf_conv2d_q8_panel(n, job.tile.groups));
        job.tile.c = y + j;
        ((nnf_conv2d_lines_q8_nhwc_fn)kernel->fn)(&job);
    }
}

/* Codes of a layer, and what turns its sums into codes: with the multipliers of layers, or with any. */
static void fill(nnf_check *c, problem *p, bool any)
{
    const size_t depth = p->blocks * BLOCK;
    size_t reach = 0;
    for (size_t b = 0; b < p->blocks; b++)
        reach = p->at[b] > reach ? p->at[b] : reach;
    const size_t size = (p->lines - 1) * p->line + (p->rows - 1) * p->lda + reach + BLOCK;
    uint8_t *x = nnf_check_alloc(c, size), *weights = nnf_check_alloc(c, p->columns * depth);
    int32_t *bias = nnf_check_alloc(c, 4 * p->columns), *multiplier = nnf_check_alloc(c, 4 * p->columns);
    int32_t *exponent = nnf_check_alloc(c, 4 * p->columns), *offset = nnf_check_alloc(c, 4 * p->lines * p->rows);
    nnf_check_fill_bytes(c, x, size);
    nnf_check_fill_bytes(c, weights, p->columns * depth);
    for (size_t j = 0; j < p->columns; j++) {
        bias[j] = (int32_t)nnf_check_u32(c) >> (any ? 0 : 16);
        nnf_check_multiplier(c, multiplier + j, exponent + j, any ? -31 : -12, any ? 31 : -1);
    }
    const int32_t zero_point = (int32_t)nnf_check_below(c, 256) - 128;
    for (size_t i = 0; i < p->lines * p->rows; i++)
        offset[i] = -zero_point * (int32_t)nnf_check_below(c, 255 * depth + 1);
    p->x = x, p->weights = weights, p->offset = nnf_check_below(c, 2) ? offset : NULL;
    p->scheme = (nnf_conv2d_q8_scheme){.flip = nnf_check_below(c, 2) ? 0x80 : 0, .weight_zero_point = zero_point,
                                       .input_zero_point = (int32_t)nnf_check_below(c, 256), .bias = bias,
                                       .multiplier = multiplier, .exponent = exponent};
    p->zero_point = (int32_t)nnf_check_below(c, 256);
    p->lo = nnf_check_below(c, 2) ? 0 : (int32_t)nnf_check_below(c, 100);
    p->hi = nnf_check_below(c, 2) ? 255 : 156 + (int32_t)nnf_check_below(c, 100);
    p->flip = nnf_check_below(c, 2) ? 0x80 : 0;
}

static void check_lines(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const size_t n = (size_t)kernel->n, columns[] = {1, n / 2, n / 2 + 1, n, n + 1, 2 * n + n / 2 + 1};
    for (size_t rows = 1; rows <= 50; rows++) {
        for (size_t lines = 1; lines <= 3; lines++) {
            for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++) {
                problem p = {.rows = rows, .lines = lines, .columns = columns[j],
                             .blocks = 1 + nnf_check_below(c, MOST_BLOCKS), .lda = nnf_check_below(c, 130),
                             .line = nnf_check_below(c, 300)};
                for (size_t b = 0; b < p.blocks; b++)
                    p.at[b] = (uint32_t)nnf_check_below(c, 400);
                fill(c, &p, nnf_check_below(c, 2));
                uint8_t *expected = nnf_check_alloc(c, lines * rows * p.columns);
                uint8_t *actual = nnf_check_alloc(c, lines * rows * p.columns);
                multiply(c, twin, &p, (size_t)twin->n, expected);
                multiply(c, kernel, &p, n, actual);
                nnf_check_bytes(c, expected, actual, lines * rows * p.columns);
                if (kernel->k == BLOCK && p.columns > n) {
                    memset(actual, 0, lines * rows * p.columns);
                    multiply(c, kernel, &p, p.columns, actual);
                    nnf_check_bytes(c, expected, actual, lines * rows * p.columns);
                }
                nnf_check_done(c, "rows=%zu lines=%zu columns=%zu blocks=%zu lda=%zu line=%zu", rows, lines, p.columns,
                               p.blocks, p.lda, p.line);
            }
        }
    }
}

/* 3x3 layers of residual nets: output rows and columns, channels. */
static void bench_lines(nnf_check *c, const nnf_kernel *kernel)
{
    static const size_t layers[][2] = {{56, 64}, {28, 128}, {14, 256}};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const size_t size = layers[i][0], channels = layers[i][1], pitch = (size + 2) * channels;
        const size_t n = (size_t)kernel->n, blocks = 9 * channels / BLOCK;
        uint32_t *at = nnf_check_alloc(c, 4 * blocks);
        uint8_t *x = nnf_check_alloc(c, (size + 2) * pitch), *y = nnf_check_alloc(c, size * size * n);
        int32_t *w = nnf_check_alloc(c, nnf_conv2d_q8_panel(n, 16 * blocks));
        memset(w, 0, nnf_conv2d_q8_panel(n, 16 * blocks));
        *(int32_t *)(uintptr_t)nnf_conv2d_q8_simple(w, n) = 1;
        nnf_check_fill_bytes(c, x, (size + 2) * pitch);
        for (size_t b = 0; b < blocks; b++)
            at[b] = (uint32_t)(b / (3 * channels / BLOCK) * pitch + b % (3 * channels / BLOCK) * BLOCK);
        for (size_t j = 0; j < n; j++)
            w[NNF_CONV2D_Q8_RIGHT * n + j] = 8;
        const nnf_conv2d_q8_lines job = {
            .tile = {.rows = size, .columns = n, .groups = 16 * blocks, .a = x, .lda = channels, .w = w, .c = y,
                     .ldc = n, .hi = 255},
            .lines = size, .line = pitch, .at = at,
        };
        char label[64];
        snprintf(label, sizeof label, "%zux%zux%zu", size, size, channels);
        NNF_BENCH(c, label, size * size * n * blocks * BLOCK, ((nnf_conv2d_lines_q8_nhwc_fn)kernel->fn)(&job));
        nnf_check_done(c, "bench %s", label);
    }
}

void nnf_check_conv2d_lines_qu8_qs8c_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_lines(c, twin, kernel);
    if (c->bench)
        bench_lines(c, kernel);
}

NNF_CHECK(conv2d_lines_qs8_qs8c_nhwc, nnf_check_conv2d_lines_qu8_qs8c_nhwc(c, twin, kernel))
