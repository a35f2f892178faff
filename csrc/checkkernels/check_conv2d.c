#include "check.h"
#include "checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conv2d/conv2d.h"

typedef struct problem {
    size_t rows, columns, taps, depth;
    const float *x, *weights, *bias;
    float lo, hi;
} problem;

/* The address of row i, tap t: rows lie in reverse, so that nothing may depend on their order. */
static const float *row(const problem *p, size_t i, size_t t)
{
    return p->x + ((p->rows - 1 - i) * p->taps + t) * p->depth;
}

/* The whole product by the tiles of one kernel, into y [rows][columns]. */
static void multiply(nnf_check *c, const nnf_kernel *kernel, const problem *p, float *y)
{
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n, depth = p->taps * p->depth;
    const size_t size = nnf_pack_conv2d_f32_size(p->columns, depth, n);
    float *packed = nnf_check_alloc(c, 4 * size);
    const float **a = nnf_check_alloc(c, p->taps * m * sizeof *a);
    nnf_pack_conv2d_f32(p->columns, depth, n, p->weights, p->bias, packed);
    const size_t begin = nnf_check_below(c, 2) * p->depth; /* as of a later group */
    for (size_t i = 0; i < p->rows; i += m) {
        const size_t rows = p->rows - i < m ? p->rows - i : m;
        for (size_t t = 0; t < p->taps; t++) {
            for (size_t r = 0; r < rows; r++)
                a[t * m + r] = row(p, i + r, t) - begin;
        }
        for (size_t j = 0, columns; j < p->columns; j += columns) {
            columns = p->columns - j;
            if (columns > n && nnf_check_below(c, 2))
                columns = n * (1 + nnf_check_below(c, columns / n));
            const nnf_conv2d_f32_tile tile = {rows, columns, p->taps, p->depth, a, packed + j * (depth + 1),
                                              y + i * p->columns + j, p->columns, p->lo, p->hi, (const char *)packed,
                                              (size_t)4 >> nnf_check_below(c, 4), begin};
            ((nnf_conv2d_f32_nhwc_fn)kernel->fn)(&tile);
        }
    }
}

static void check_f32(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem p, bool corners)
{
    const size_t depth = p.taps * p.depth, outputs = p.rows * p.columns;
    float *x = nnf_check_alloc(c, 4 * p.rows * depth), *weights = nnf_check_alloc(c, 4 * p.columns * depth);
    float *bias = nnf_check_alloc(c, 4 * p.columns), *scale = nnf_check_alloc(c, 4 * outputs);
    float *expected = nnf_check_alloc(c, 4 * outputs), *actual = nnf_check_alloc(c, 4 * outputs);
    nnf_check_fill_f32(c, x, p.rows * depth, -1, 1);
    nnf_check_fill_f32(c, weights, p.columns * depth, -1, 1);
    nnf_check_fill_f32(c, bias, p.columns, -1, 1);
    if (corners) {
        x[nnf_check_below(c, p.rows * depth)] = NAN;
        bias[nnf_check_below(c, p.columns)] = NAN;
    }
    p.x = x, p.weights = weights, p.bias = bias;
    for (size_t i = 0; i < p.rows; i++) {
        for (size_t j = 0; j < p.columns; j++) {
            double sum = fabs((double)bias[j]);
            for (size_t k = 0; k < depth; k++)
                sum += fabs((double)row(&p, i, k / p.depth)[k % p.depth] * weights[j * depth + k]);
            scale[i * p.columns + j] = (float)sum;
        }
    }
    multiply(c, twin, &p, expected);
    multiply(c, kernel, &p, actual);
    nnf_check_f32(c, expected, actual, outputs, scale, depth + 1);
    nnf_check_done(c, "rows=%zu columns=%zu taps=%zu depth=%zu clamp=%g..%g", p.rows, p.columns, p.taps, p.depth,
                   (double)p.lo, (double)p.hi);
}

/* Pointwise layers of a well-known net: pixels, output channels, input channels. */
static const size_t layers[][3] = {{3136, 64, 32}, {784, 256, 128}, {196, 512, 512}, {49, 1024, 1024}, {1, 1024, 1024}};

/* One layer, panel by panel, with tiles of equal height. */
static void layer_f32(const nnf_kernel *kernel, const size_t *layer, const float *const *a, const float *w, float *y)
{
    const size_t rows = layer[0], columns = layer[1], depth = layer[2];
    const size_t n = (size_t)kernel->n, tiles = (rows + (size_t)kernel->m - 1) / (size_t)kernel->m;
    for (size_t j = 0; j < columns; j += n) {
        for (size_t t = 0; t < tiles; t++) {
            const size_t first = t * rows / tiles, last = (t + 1) * rows / tiles;
            const nnf_conv2d_f32_tile tile = {last - first, n, 1, depth, a + first, w + j * (depth + 1),
                                              y + first * columns + j, columns, 0, 6, NULL, 0, 0};
            ((nnf_conv2d_f32_nhwc_fn)kernel->fn)(&tile);
        }
    }
}

static void bench_f32(nnf_check *c, const nnf_kernel *kernel)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const size_t rows = layers[i][0], columns = layers[i][1], depth = layers[i][2];
        const size_t size = nnf_pack_conv2d_f32_size(columns, depth, (size_t)kernel->n);
        float *x = nnf_check_alloc(c, 4 * rows * depth), *y = nnf_check_alloc(c, 4 * rows * columns);
        float *w = nnf_check_alloc(c, 4 * size);
        const float **a = nnf_check_alloc(c, rows * sizeof *a);
        nnf_check_fill_f32(c, x, rows * depth, -1, 1);
        nnf_check_fill_f32(c, w, size, -1, 1);
        for (size_t r = 0; r < rows; r++)
            a[r] = x + r * depth;
        char label[64];
        snprintf(label, sizeof label, "%zux%zux%zu", rows, columns, depth);
        NNF_BENCH(c, label, rows * columns * depth, layer_f32(kernel, layers[i], a, w, y));
        nnf_check_done(c, "bench %s", label);
    }
}

void nnf_check_conv2d_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    static const size_t inner[][2] = {{1, 1}, {1, 7}, {3, 4}, {9, 5}, {2, 33}};
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n;
    const size_t columns[] = {1, n / 4, n / 4 + 1, n / 2 - 1, n / 2, n / 2 + 1, 3 * n / 4,
                              3 * n / 4 + 1, n, n + n / 4, 2 * n + n / 2 + 1};
    for (size_t rows = 1; rows <= m + 1; rows++) {
        for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++) {
            for (size_t k = 0; k < sizeof inner / sizeof inner[0]; k++) {
                const bool clamp = nnf_check_below(c, 2);
                const problem p = {.rows = rows, .columns = columns[j], .taps = inner[k][0], .depth = inner[k][1],
                                   .lo = clamp ? 0 : -INFINITY, .hi = clamp ? 6 : INFINITY};
                check_f32(c, twin, kernel, p, nnf_check_below(c, 4) == 0);
            }
        }
    }
    if (c->bench)
        bench_f32(c, kernel);
}

/* A line of `rows` pixels, `step` inputs apart, by one kernel; a tap of the mask is missing. */
static void draw_line(nnf_check *c, const nnf_kernel *kernel, const problem *p, size_t step, unsigned missing, float *y)
{
    const size_t n = (size_t)kernel->n, depth = p->taps * p->depth, stretch = (p->rows - 1) * step + p->depth;
    float *packed = nnf_check_alloc(c, 4 * nnf_pack_conv2d_f32_size(p->columns, depth, n));
    const float **a = nnf_check_alloc(c, p->taps * sizeof *a);
    nnf_pack_conv2d_f32(p->columns, depth, n, p->weights, p->bias, packed);
    for (size_t t = 0; t < p->taps; t++)
        a[t] = missing >> t & 1 ? NULL : p->x + t * stretch;
    for (size_t j = 0; j < p->columns; j += n) {
        const nnf_conv2d_f32_line line = {
            .rows = p->rows, .columns = p->columns - j < n ? p->columns - j : n, .taps = p->taps, .depth = p->depth,
            .a = a, .step = step, .w = packed + j * (depth + 1), .c = y + j, .ldc = p->columns, .lo = p->lo,
            .hi = p->hi,
        };
        ((nnf_conv2d_line_f32_nhwc_fn)kernel->fn)(&line);
    }
}

static void check_line(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem p)
{
    const size_t step = nnf_check_below(c, 2 * p.depth + 1), stretch = (p.rows - 1) * step + p.depth;
    const size_t depth = p.taps * p.depth, outputs = p.rows * p.columns;
    const unsigned missing = nnf_check_below(c, 2) ? nnf_check_u32(c) : 0;
    float *x = nnf_check_alloc(c, 4 * p.taps * stretch), *weights = nnf_check_alloc(c, 4 * p.columns * depth);
    float *bias = nnf_check_alloc(c, 4 * p.columns), *scale = nnf_check_alloc(c, 4 * outputs);
    float *expected = nnf_check_alloc(c, 4 * outputs), *actual = nnf_check_alloc(c, 4 * outputs);
    nnf_check_fill_f32(c, x, p.taps * stretch, -1, 1);
    nnf_check_fill_f32(c, weights, p.columns * depth, -1, 1);
    nnf_check_fill_f32(c, bias, p.columns, -1, 1);
    if (nnf_check_below(c, 4) == 0)
        x[nnf_check_below(c, p.taps * stretch)] = NAN;
    for (size_t i = 0; i < outputs; i++)
        scale[i] = (float)(depth + 1);
    p.x = x, p.weights = weights, p.bias = bias;
    draw_line(c, twin, &p, step, missing, expected);
    draw_line(c, kernel, &p, step, missing, actual);
    nnf_check_f32(c, expected, actual, outputs, scale, depth + 1);
    nnf_check_done(c, "line rows=%zu columns=%zu taps=%zu depth=%zu step=%zu missing=%x", p.rows, p.columns, p.taps,
                   p.depth, step, missing);
}

static void bench_line(nnf_check *c, const nnf_kernel *kernel, size_t rows, size_t taps, size_t depth, size_t step)
{
    const size_t n = (size_t)kernel->n, stretch = (rows - 1) * step + depth;
    float *x = nnf_check_alloc(c, 4 * taps * stretch), *w = nnf_check_alloc(c, 4 * n * (taps * depth + 1));
    float *y = nnf_check_alloc(c, 4 * rows * n);
    const float **a = nnf_check_alloc(c, taps * sizeof *a);
    nnf_check_fill_f32(c, x, taps * stretch, -1, 1);
    nnf_check_fill_f32(c, w, n * (taps * depth + 1), -1, 1);
    for (size_t t = 0; t < taps; t++)
        a[t] = x + t * stretch;
    const nnf_conv2d_f32_line line = {.rows = rows, .columns = n, .taps = taps, .depth = depth, .a = a, .step = step,
                                      .w = w, .c = y, .ldc = n, .lo = 0, .hi = 6};
    char label[64];
    snprintf(label, sizeof label, "%zux%zux%zux%zu", rows, n, taps, depth);
    NNF_BENCH(c, label, rows * n * taps * depth, ((nnf_conv2d_line_f32_nhwc_fn)kernel->fn)(&line));
    nnf_check_done(c, "bench %s", label);
}

void nnf_check_conv2d_line_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    static const size_t inner[][2] = {{1, 1}, {1, 7}, {3, 9}, {7, 21}, {2, 33}};
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n;
    const size_t columns[] = {1, n / 4, n / 4 + 1, n / 2 - 1, n / 2, n / 2 + 1, n - 1, n, n + 1, 2 * n + n / 2 + 1};
    for (size_t rows = 1; rows <= 2 * m + 1; rows++) {
        for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++) {
            for (size_t k = 0; k < sizeof inner / sizeof inner[0]; k++) {
                const bool clamp = nnf_check_below(c, 2);
                check_line(c, twin, kernel,
                           (problem){.rows = rows, .columns = columns[j], .taps = inner[k][0], .depth = inner[k][1],
                                     .lo = clamp ? 0 : -INFINITY, .hi = clamp ? 6 : INFINITY});
            }
        }
    }
    bench_line(c, kernel, 112, 3, 9, 6);
    bench_line(c, kernel, 112, 7, 21, 6);
}

/* 8 bits. Rows are as long as the kernel with the largest k wants them, with zeros behind the depth. */
typedef struct problem_q8 {
    size_t rows, columns, depth, lda;
    const uint8_t *x, *weights;
    const int32_t *offset;
    nnf_conv2d_q8_scheme scheme;
    int32_t zero_point, lo, hi;
    uint8_t flip;
    bool few; /* large codes */
} problem_q8;

/* Bytes of an output value. */
static size_t size_q8(const nnf_kernel *kernel)
{
    return strstr(kernel->op, "_s32_") ? 4 : 1;
}

/* step: columns of a call. */
static void multiply_q8(nnf_check *c, const nnf_kernel *kernel, const problem_q8 *p, size_t step, uint8_t *y)
{
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n, k = (size_t)kernel->k;
    const size_t groups = nnf_conv2d_q8_groups(p->depth, k);
    unsigned char *packed = nnf_check_alloc(c, nnf_pack_conv2d_q8_size(p->columns, p->depth, n, k));
    nnf_pack_conv2d_q8(p->columns, p->depth, n, k, p->weights, &p->scheme, packed);
    if (kernel->isa == NNF_ISA_AVX2 || kernel->isa == NNF_ISA_AVX512)
        nnf_limit_conv2d_q8(p->columns, p->depth, n, packed);
    if (kernel->isa == NNF_ISA_NEON)
        nnf_mark_mild_conv2d_q8(p->columns, p->depth, n, packed);
    for (size_t i = 0; i < p->rows; i += m) {
        const size_t rows = p->rows - i < m ? p->rows - i : m;
        for (size_t j = 0; j < p->columns; j += step) {
            const nnf_conv2d_q8_tile tile = {
                .rows = rows, .columns = p->columns - j < step ? p->columns - j : step, .groups = groups,
                .a = p->x + i * p->lda, .lda = p->lda, .offset = p->offset ? p->offset + i : NULL,
                .w = (const int32_t *)(packed + j / n * nnf_conv2d_q8_panel(n, groups)),
                .c = y + (i * p->columns + j) * size_q8(kernel), .ldc = p->columns,
                .zero_point = p->zero_point, .lo = p->lo, .hi = p->hi, .flip = p->flip,
            };
            ((nnf_conv2d_qu8_qs8c_nhwc_fn)kernel->fn)(&tile);
        }
    }
}

/* Any weights, or small ones, or such that sums of products come to the ends of 16 bits and beyond with certain codes:
 * of all weights `edge`, kernels may add `each` in 16 bits as long as no code is above `limit`. Codes up to one that a
 * kernel may have to tell from the next, or all of them the largest there is. */
static void fill_q8(nnf_check *c, uint8_t *weights, size_t count, uint8_t flip, uint8_t *codes, size_t codes_count)
{
    const size_t kind = nnf_check_below(c, 4), shift = nnf_check_below(c, 6), each = (size_t)2 << nnf_check_below(c, 3);
    const int edge = nnf_check_below(c, 4) ? (int)(1 + nnf_check_below(c, 128)) : 128;
    const int limit = nnf_check_below(c, 4) ? 32767 / (edge * (int)each) + (int)nnf_check_below(c, 3) - 1 : 255;
    const uint8_t most = (uint8_t)(kind == 1 ? (limit < 255 ? limit : 255) : 255 >> nnf_check_below(c, 4));
    const int sign = nnf_check_below(c, 2) || edge == 128 ? -1 : 1;
    nnf_check_fill_bytes(c, weights, count);
    nnf_check_fill_bytes(c, codes, codes_count);
    for (size_t i = 0; i < count; i++) {
        const int weight = (int8_t)weights[i] >> shift;
        weights[i] = (uint8_t)(kind == 1 ? sign * edge : weight) ^ flip;
    }
    for (size_t i = 0; i < codes_count; i++)
        codes[i] = (uint8_t)(kind == 1 ? most : codes[i] % (most + 1));
}

/* The largest weights, but of some panels small ones. Codes up to 128, but in few places every second pair is 256
 * together, or just above or below it. panel: weights of a panel. */
static void fill_few_q8(nnf_check *c, uint8_t *weights, size_t count, size_t panel, uint8_t flip, uint8_t *codes,
                        size_t codes_count)
{
    const size_t few = (size_t)8 << nnf_check_below(c, 5), small = nnf_check_below(c, 4);
    bool is_place = false, is_near = false;
    nnf_check_fill_bytes(c, weights, count);
    nnf_check_fill_bytes(c, codes, codes_count);
    for (size_t i = 0; i < count; i++) {
        const int weight = weights[i] & 1 ? -128 : 127 - (weights[i] >> 6);
        weights[i] = (uint8_t)(i / panel % 4 < small ? weight >> 7 : weight) ^ flip;
    }
    for (size_t i = 0; i < codes_count; i++) {
        if (i % 16 == 0) {
            is_place = !nnf_check_below(c, few);
            is_near = nnf_check_below(c, 2);
        }
        if (is_near && i % 2 == 0) /* the larger ones of a place no more than 129 */
            codes[i] = 127 + codes[i] % 3;
        else if (!is_place)
            codes[i] = codes[i] & 1 ? 127 + (codes[i] >> 1) % 2 : codes[i] >> 1;
        else if (i % 2 && codes[i] & 1)
            codes[i] = (uint8_t)(256 - codes[i - 1] + (int)nnf_check_below(c, 3) - 1);
        else if (i % 2)
            codes[i] = (uint8_t)((256 - codes[i - 1]) / 2);
    }
}

/* kind 0: multipliers of a layer, 1: any exponent, 2: any exponent and sums that wrap. */
static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem_q8 p, int kind)
{
    const size_t k = (size_t)kernel->k;
    p.lda = 4 * nnf_conv2d_q8_groups(p.depth, k > 4 ? k : 4);
    uint8_t *x = nnf_check_alloc(c, p.rows * p.lda), *weights = nnf_check_alloc(c, p.columns * p.depth);
    int32_t *bias = nnf_check_alloc(c, 4 * p.columns), *multiplier = nnf_check_alloc(c, 4 * p.columns);
    int32_t *exponent = nnf_check_alloc(c, 4 * p.columns), *offset = nnf_check_alloc(c, 4 * p.rows);
    const size_t bytes = p.rows * p.columns * size_q8(kernel);
    uint8_t *expected = nnf_check_alloc(c, bytes), *actual = nnf_check_alloc(c, bytes);
    const uint8_t flip = nnf_check_below(c, 2) ? 0x80 : 0;
    if (p.few)
        fill_few_q8(c, weights, p.columns * p.depth, (size_t)kernel->n * p.depth, flip, x, p.rows * p.lda);
    else
        fill_q8(c, weights, p.columns * p.depth, flip, x, p.rows * p.lda);
    for (size_t i = 0; i < p.rows; i++)
        memset(x + i * p.lda + p.depth, 0, p.lda - p.depth);
    for (size_t j = 0; j < p.columns; j++) {
        bias[j] = (int32_t)nnf_check_u32(c) >> (kind == 2 ? 0 : 16);
        nnf_check_multiplier(c, multiplier + j, exponent + j, kind ? -31 : -12, kind ? 31 : -1);
    }
    const int32_t zero_point = (int32_t)nnf_check_below(c, 256) - 128;
    for (size_t i = 0; i < p.rows; i++)
        offset[i] = -zero_point * (int32_t)nnf_check_below(c, 255 * p.depth + 1);
    p.x = x, p.weights = weights, p.offset = nnf_check_below(c, 2) ? offset : NULL;
    p.scheme = (nnf_conv2d_q8_scheme){.flip = flip,
                                      .weight_zero_point = zero_point,
                                      .input_zero_point = (int32_t)nnf_check_below(c, 256),
                                      .bias = bias, .multiplier = multiplier, .exponent = exponent};
    p.zero_point = (int32_t)nnf_check_below(c, 256);
    p.lo = nnf_check_below(c, 2) ? 0 : (int32_t)nnf_check_below(c, 100);
    p.hi = nnf_check_below(c, 2) ? 255 : 156 + (int32_t)nnf_check_below(c, 100);
    p.flip = nnf_check_below(c, 2) ? 0x80 : 0;
    multiply_q8(c, twin, &p, (size_t)twin->n, expected);
    multiply_q8(c, kernel, &p, (size_t)kernel->n, actual);
    nnf_check_bytes(c, expected, actual, bytes);
    if (nnf_conv2d_q8_wide((size_t)kernel->m, k) && p.columns > (size_t)kernel->n) {
        memset(actual, 0, bytes);
        multiply_q8(c, kernel, &p, p.columns, actual);
        nnf_check_bytes(c, expected, actual, bytes);
    }
    nnf_check_done(c, "rows=%zu columns=%zu depth=%zu kind=%d", p.rows, p.columns, p.depth, kind);
}

static void layer_q8(const nnf_kernel *kernel, const size_t *layer, const uint8_t *x, const unsigned char *w,
                     uint8_t *y)
{
    const size_t rows = layer[0], columns = layer[1], depth = layer[2];
    const size_t n = (size_t)kernel->n, tiles = (rows + (size_t)kernel->m - 1) / (size_t)kernel->m;
    const size_t groups = nnf_conv2d_q8_groups(depth, (size_t)kernel->k);
    const size_t step = nnf_conv2d_q8_wide((size_t)kernel->m, (size_t)kernel->k) ? columns : n;
    for (size_t j = 0; j < columns; j += step) {
        for (size_t t = 0; t < tiles; t++) {
            const size_t first = t * rows / tiles, last = (t + 1) * rows / tiles;
            const nnf_conv2d_q8_tile tile = {
                .rows = last - first, .columns = step, .groups = groups, .a = x + first * depth, .lda = depth,
                .w = (const int32_t *)(w + j / n * nnf_conv2d_q8_panel(n, groups)),
                .c = y + (first * columns + j) * size_q8(kernel), .ldc = columns, .zero_point = 128, .hi = 255,
            };
            ((nnf_conv2d_qu8_qs8c_nhwc_fn)kernel->fn)(&tile);
        }
    }
}

static void bench_q8(nnf_check *c, const nnf_kernel *kernel)
{
    const size_t n = (size_t)kernel->n, k = (size_t)kernel->k;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const size_t rows = layers[i][0], columns = layers[i][1], depth = layers[i][2];
        uint8_t *x = nnf_check_alloc(c, rows * depth), *y = nnf_check_alloc(c, rows * columns * size_q8(kernel));
        uint8_t *weights = nnf_check_alloc(c, columns * depth);
        int32_t *bias = nnf_check_alloc(c, 4 * columns), *multiplier = nnf_check_alloc(c, 4 * columns);
        int32_t *exponent = nnf_check_alloc(c, 4 * columns);
        unsigned char *w = nnf_check_alloc(c, nnf_pack_conv2d_q8_size(columns, depth, n, k));
        for (size_t j = 0; j < columns; j++) {
            bias[j] = (int32_t)nnf_check_below(c, 1000);
            nnf_check_multiplier(c, multiplier + j, exponent + j, -10, -6);
        }
        const nnf_conv2d_q8_scheme scheme = {.bias = bias, .multiplier = multiplier, .exponent = exponent};
        nnf_pack_conv2d_q8(columns, depth, n, k, weights, &scheme, w);
        char label[64];
        snprintf(label, sizeof label, "%zux%zux%zu", rows, columns, depth);
        NNF_BENCH(c, label, rows * columns * depth, layer_q8(kernel, layers[i], x, w, y));
        nnf_check_done(c, "bench %s", label);
    }
}

void nnf_check_conv2d_qu8_qs8c_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    static const size_t depths[] = {3, 4, 8, 12, 27, 36, 61, 64, 65, 132, 192, 1100};
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n;
    const size_t columns[] = {1, n / 2 - 1, n / 2, n / 2 + 1, n - 1, n, n + 1, 2 * n + n / 2 + 1};
    /* Every number of rows up to a few blocks of the widest kernel, then those around a whole tile. */
    for (size_t rows = 1; rows <= m + 1; rows += rows == 70 && m > 70 ? m - 1 - rows : 1) {
        for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++) {
            for (int kind = 0; kind < 3; kind++) {
                const problem_q8 p = {.rows = rows, .columns = columns[j],
                                      .depth = depths[nnf_check_below(c, sizeof depths / sizeof depths[0])]};
                check_q8(c, twin, kernel, p, kind);
            }
        }
    }
    for (int i = 0; i < 60; i++) {
        const problem_q8 p = {.rows = 1 + nnf_check_below(c, m + m / 2), .columns = n * 4 + nnf_check_below(c, 6 * n),
                              .depth = 1 + nnf_check_below(c, 300), .few = true};
        check_q8(c, twin, kernel, p, 0);
    }
    for (int i = 0; i < 24; i++) { /* no more rows than some kernels take another way */
        const problem_q8 p = {.rows = 1 + nnf_check_below(c, 3), .columns = 1 + nnf_check_below(c, 4 * n),
                              .depth = 1 + nnf_check_below(c, i < 4 ? 9000 : 300), .few = true};
        check_q8(c, twin, kernel, p, 0);
    }
    /* More inputs than a kernel takes before it goes to the next panel. */
    for (int i = 0; i < 24; i++) {
        const problem_q8 p = {.rows = 1 + nnf_check_below(c, m < 64 ? m : 64),
                              .columns = n * 3 + nnf_check_below(c, 6 * n),
                              .depth = 1000 + nnf_check_below(c, 1500), .few = i % 2};
        check_q8(c, twin, kernel, p, 0);
    }
    if (c->bench)
        bench_q8(c, kernel);
}

NNF_CHECK(conv2d_qs8_qs8c_nhwc, nnf_check_conv2d_qu8_qs8c_nhwc(c, twin, kernel))
NNF_CHECK(conv2d_s32_qu8_qs8c_nhwc, nnf_check_conv2d_qu8_qs8c_nhwc(c, twin, kernel))
NNF_CHECK(conv2d_few_qu8_qs8c_nhwc, nnf_check_conv2d_qu8_qs8c_nhwc(c, twin, kernel))
NNF_CHECK(conv2d_few_s32_qu8_qs8c_nhwc, nnf_check_conv2d_qu8_qs8c_nhwc(c, twin, kernel))

void nnf_check_conv2d_gather_qu8_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_conv2d_gather_qu8_nhwc_fn slow = (nnf_conv2d_gather_qu8_nhwc_fn)twin->fn;
    const nnf_conv2d_gather_qu8_nhwc_fn fast = (nnf_conv2d_gather_qu8_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t rows = 1; rows <= 3; rows++) {
            const size_t n = sizes[s], ldx = n / 2 + nnf_check_below(c, n), ldt = n + nnf_check_below(c, 5);
            const size_t read = (rows - 1) * ldx + n, written = (rows - 1) * ldt + n;
            uint8_t *x = nnf_check_alloc(c, read), *expected = nnf_check_alloc(c, written);
            uint8_t *actual = nnf_check_alloc(c, written), flip = nnf_check_below(c, 2) ? 0x80 : 0;
            uint32_t sums[2][3] = {{1, 2, UINT32_MAX}, {1, 2, UINT32_MAX}};
            nnf_check_fill_bytes(c, x, read);
            slow(rows, n, x, ldx, flip, expected, ldt, sums[0]);
            fast(rows, n, x, ldx, flip, actual, ldt, sums[1]);
            nnf_check_bytes(c, expected, actual, written);
            nnf_check_bytes(c, sums[0], sums[1], sizeof sums[0]);
            fast(rows, n, x, ldx, flip ^ 0x80, actual, ldt, NULL);
            slow(rows, n, x, ldx, flip ^ 0x80, expected, ldt, NULL);
            nnf_check_bytes(c, expected, actual, written);
            nnf_check_done(c, "rows=%zu n=%zu ldx=%zu ldt=%zu", rows, n, ldx, ldt);
        }
    }
    const size_t n = 256, rows = 12;
    uint8_t *x = nnf_check_alloc(c, n * rows), *to = nnf_check_alloc(c, n * rows);
    uint32_t sums[12] = {0};
    NNF_BENCH(c, "12x256", n * rows, fast(rows, n, x, n, 0x80, to, n, sums));
    NNF_BENCH(c, "12x9", 9 * rows, fast(rows, 9, x, 6, 0x80, to, 64, NULL));
    nnf_check_done(c, "bench");
}
