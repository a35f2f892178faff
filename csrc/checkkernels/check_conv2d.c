#include "check.h"
#include "checks.h"
#include "conv2d_layers.h"

#include <math.h>
#include <stdio.h>

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
    nnf_pack_conv2d_f32(p->columns, depth, n, p->weights, depth, p->bias, packed);
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
    nnf_pack_conv2d_f32(p->columns, depth, n, p->weights, depth, p->bias, packed);
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
