#include "check.h"
#include "checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conv2d_narrow/conv2d_narrow.h"

enum { ROWS = NNF_CONV2D_NARROW_ROWS };

typedef struct problem {
    size_t rows, columns, taps, depth;
    float lo, hi;
} problem;

/* Addresses [taps][ROWS] of rows, each a buffer of its own, in any order. */
static void *scatter_rows(nnf_check *c, const problem *p, size_t item)
{
    unsigned char **a = nnf_check_alloc(c, p->taps * ROWS * sizeof *a);
    for (size_t t = 0; t < p->taps; t++) {
        for (size_t i = 0; i < p->rows; i++)
            a[t * ROWS + i] = nnf_check_alloc(c, p->depth * item);
    }
    return a;
}

/* Likewise of rows that lie one behind the other, as those of an image do. */
static void *rows_of_image(nnf_check *c, const problem *p, size_t item)
{
    unsigned char **a = nnf_check_alloc(c, p->taps * ROWS * sizeof *a);
    unsigned char *x = nnf_check_alloc(c, p->rows * p->taps * p->depth * item);
    for (size_t t = 0; t < p->taps; t++) {
        for (size_t i = 0; i < p->rows; i++)
            a[t * ROWS + i] = x + (t * p->rows + i) * p->depth * item;
    }
    return a;
}

static void check_f32(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem p)
{
    const size_t depth = p.taps * p.depth, ldc = p.columns + nnf_check_below(c, 2), size = p.rows * ldc;
    float **a = scatter_rows(c, &p, sizeof(float)), *w = nnf_check_alloc(c, 4 * p.columns * (depth + 1));
    float *scale = nnf_check_alloc(c, 4 * size);
    float *expected = nnf_check_alloc(c, 4 * size), *actual = nnf_check_alloc(c, 4 * size);
    nnf_check_fill_f32(c, w, p.columns * (depth + 1), -1, 1);
    memset(scale, 0, 4 * size);
    memset(expected, 0, 4 * size);
    memset(actual, 0, 4 * size);
    for (size_t t = 0; t < p.taps; t++) {
        for (size_t i = 0; i < p.rows; i++)
            nnf_check_fill_f32(c, a[t * ROWS + i], p.depth, -1, 1);
    }
    if (nnf_check_below(c, 4) == 0) {
        a[nnf_check_below(c, p.taps) * ROWS + nnf_check_below(c, p.rows)][nnf_check_below(c, p.depth)] =
            nnf_check_below(c, 2) ? NAN : INFINITY;
    }
    for (size_t i = 0; i < p.rows; i++) {
        for (size_t j = 0; j < p.columns; j++) {
            double sum = fabs((double)w[j]);
            for (size_t k = 0; k < depth; k++)
                sum += fabs((double)a[k / p.depth * ROWS + i][k % p.depth] * w[p.columns + j * depth + k]);
            scale[i * ldc + j] = (float)sum;
        }
    }
    nnf_conv2d_f32_tile tile = {.rows = p.rows, .columns = p.columns, .taps = p.taps, .depth = p.depth,
                                .a = (const float *const *)a, .w = w, .ldc = ldc, .lo = p.lo, .hi = p.hi};
    tile.c = expected;
    ((nnf_conv2d_f32_nhwc_fn)twin->fn)(&tile);
    tile.c = actual;
    ((nnf_conv2d_f32_nhwc_fn)kernel->fn)(&tile);
    nnf_check_f32(c, expected, actual, size, scale, depth + 1);
    nnf_check_done(c, "rows=%zu columns=%zu taps=%zu depth=%zu clamp=%g..%g", p.rows, p.columns, p.taps, p.depth,
                   (double)p.lo, (double)p.hi);
}

static void bench_f32(nnf_check *c, const nnf_kernel *kernel, const problem *p)
{
    float **a = rows_of_image(c, p, sizeof(float)), *y = nnf_check_alloc(c, 4 * p->rows * p->columns);
    float *w = nnf_check_alloc(c, 4 * p->columns * (p->taps * p->depth + 1));
    char label[64];
    for (size_t t = 0; t < p->taps; t++) {
        for (size_t i = 0; i < p->rows; i++)
            nnf_check_fill_f32(c, a[t * ROWS + i], p->depth, -1, 1);
    }
    nnf_check_fill_f32(c, w, p->columns * (p->taps * p->depth + 1), -1, 1);
    const nnf_conv2d_f32_tile tile = {.rows = p->rows, .columns = p->columns, .taps = p->taps, .depth = p->depth,
                                      .a = (const float *const *)a, .w = w, .c = y, .ldc = p->columns, .lo = 0,
                                      .hi = 6};
    snprintf(label, sizeof label, "%zux%zux%zux%zu", p->rows, p->columns, p->taps, p->depth);
    NNF_BENCH(c, label, p->rows * p->columns * p->taps * p->depth, ((nnf_conv2d_f32_nhwc_fn)kernel->fn)(&tile));
    nnf_check_done(c, "bench %s", label);
}

/* Rows, columns, taps, depth of heads that give one image, or few. */
static const problem heads[] = {{ROWS, 1, 3, 96, 0, 0}, {ROWS, 2, 9, 64, 0, 0}, {ROWS, 4, 9, 64, 0, 0},
                                {ROWS, 3, 1, 256, 0, 0}};

void nnf_check_conv2d_narrow_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const size_t k = (size_t)kernel->k, depths[] = {1, k - 1, k, k + 1, 3 * k, 3 * k + k / 2};
    for (size_t rows = 1; rows <= ROWS; rows += rows < 18 ? 1 : 7) {
        for (size_t columns = 1; columns <= 9; columns++) {
            for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
                const bool clamp = nnf_check_below(c, 2);
                const problem p = {.rows = rows, .columns = columns, .taps = 1 + nnf_check_below(c, 4),
                                   .depth = depths[i] ? depths[i] : 1, .lo = clamp ? 0 : -INFINITY,
                                   .hi = clamp ? 6 : INFINITY};
                check_f32(c, twin, kernel, p);
            }
        }
    }
    for (size_t i = 0; c->bench && i < sizeof heads / sizeof heads[0]; i++)
        bench_f32(c, kernel, &heads[i]);
}

/* Weights packed for a kernel. */
static const int32_t *pack_q8(nnf_check *c, const nnf_kernel *kernel, const problem *p, const uint8_t *weights,
                              const nnf_conv2d_q8_scheme *scheme)
{
    const size_t k = (size_t)kernel->k;
    const size_t bytes = nnf_pack_conv2d_narrow_q8_size(p->columns, p->taps, p->depth, k);
    unsigned char *w = nnf_check_alloc(c, (bytes + 3) / 4 * 4); /* words begin it */
    nnf_pack_conv2d_narrow_q8(p->columns, p->taps, p->depth, k, weights, scheme, w);
    return (const int32_t *)w;
}

/* any: every multiplier, sums that wrap; else those of layers. */
static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem p, bool any)
{
    const size_t depth = p.taps * p.depth, ldc = p.columns + nnf_check_below(c, 2), size = p.rows * ldc;
    uint8_t **a = scatter_rows(c, &p, 1), *weights = nnf_check_alloc(c, p.columns * depth);
    int32_t *bias = nnf_check_alloc(c, 4 * p.columns), *multiplier = nnf_check_alloc(c, 4 * p.columns);
    int32_t *exponent = nnf_check_alloc(c, 4 * p.columns);
    uint8_t *expected = nnf_check_alloc(c, size), *actual = nnf_check_alloc(c, size);
    memset(expected, 0, size);
    memset(actual, 0, size);
    nnf_check_fill_bytes(c, weights, p.columns * depth);
    for (size_t t = 0; t < p.taps; t++) {
        for (size_t i = 0; i < p.rows; i++)
            nnf_check_fill_bytes(c, a[t * ROWS + i], p.depth);
    }
    for (size_t j = 0; j < p.columns; j++) {
        bias[j] = (int32_t)nnf_check_u32(c) >> (any ? 0 : 16);
        nnf_check_multiplier(c, multiplier + j, exponent + j, any ? -31 : -12, any ? 31 : -1);
    }
    const nnf_conv2d_q8_scheme scheme = {.flip = nnf_check_below(c, 2) ? 0x80 : 0,
                                         .input_zero_point = (int32_t)nnf_check_below(c, 256),
                                         .bias = bias, .multiplier = multiplier, .exponent = exponent};
    nnf_conv2d_narrow_q8_tile tile = {
        .rows = p.rows, .columns = p.columns, .taps = p.taps, .depth = p.depth, .a = (const uint8_t *const *)a,
        .from = nnf_check_below(c, 2) ? 0x80 : 0, .ldc = ldc, .zero_point = (int32_t)nnf_check_below(c, 256),
        .lo = nnf_check_below(c, 2) ? 0 : (int32_t)nnf_check_below(c, 100),
        .hi = nnf_check_below(c, 2) ? 255 : 156 + (int32_t)nnf_check_below(c, 100),
        .flip = nnf_check_below(c, 2) ? 0x80 : 0,
    };
    tile.c = expected;
    tile.w = pack_q8(c, twin, &p, weights, &scheme);
    ((nnf_conv2d_narrow_qu8_qs8c_nhwc_fn)twin->fn)(&tile);
    tile.c = actual;
    tile.w = pack_q8(c, kernel, &p, weights, &scheme);
    ((nnf_conv2d_narrow_qu8_qs8c_nhwc_fn)kernel->fn)(&tile);
    nnf_check_bytes(c, expected, actual, size);
    nnf_check_done(c, "rows=%zu columns=%zu taps=%zu depth=%zu any=%d", p.rows, p.columns, p.taps, p.depth, any);
}

static void bench_q8(nnf_check *c, const nnf_kernel *kernel, const problem *p)
{
    uint8_t **a = rows_of_image(c, p, 1), *y = nnf_check_alloc(c, p->rows * p->columns);
    uint8_t *weights = nnf_check_alloc(c, p->columns * p->taps * p->depth);
    int32_t *bias = nnf_check_alloc(c, 4 * p->columns), *multiplier = nnf_check_alloc(c, 4 * p->columns);
    int32_t *exponent = nnf_check_alloc(c, 4 * p->columns);
    char label[64];
    for (size_t j = 0; j < p->columns; j++) {
        bias[j] = (int32_t)nnf_check_below(c, 1000);
        nnf_check_multiplier(c, multiplier + j, exponent + j, -10, -6);
    }
    const nnf_conv2d_q8_scheme scheme = {.bias = bias, .multiplier = multiplier, .exponent = exponent};
    const nnf_conv2d_narrow_q8_tile tile = {
        .rows = p->rows, .columns = p->columns, .taps = p->taps, .depth = p->depth, .a = (const uint8_t *const *)a,
        .w = pack_q8(c, kernel, p, weights, &scheme), .c = y, .ldc = p->columns, .zero_point = 128, .hi = 255};
    snprintf(label, sizeof label, "%zux%zux%zux%zu", p->rows, p->columns, p->taps, p->depth);
    NNF_BENCH(c, label, p->rows * p->columns * p->taps * p->depth,
              ((nnf_conv2d_narrow_qu8_qs8c_nhwc_fn)kernel->fn)(&tile));
    nnf_check_done(c, "bench %s", label);
}

void nnf_check_conv2d_narrow_qu8_qs8c_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const size_t k = (size_t)kernel->k, depths[] = {k, k + 1, 2 * k - 1, 2 * k, 3 * k + k / 2};
    for (size_t rows = 1; rows <= ROWS; rows += rows < 18 ? 1 : 7) {
        for (size_t columns = 1; columns <= 9; columns++) {
            for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
                const problem p = {.rows = rows, .columns = columns, .taps = 1 + nnf_check_below(c, 4),
                                   .depth = depths[i]};
                check_q8(c, twin, kernel, p, i % 2);
            }
        }
    }
    for (size_t i = 0; c->bench && i < sizeof heads / sizeof heads[0]; i++)
        bench_q8(c, kernel, &heads[i]);
}
