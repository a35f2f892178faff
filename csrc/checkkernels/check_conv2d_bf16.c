#include "check.h"
#include "checks.h"
#include "conv2d_layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conv2d/conv2d_bf16.h"

typedef struct problem {
    size_t rows, columns, taps, depth; /* depth: of all taps */
    size_t at, line, span;
    bool odd; /* the last input of a tap is none: a NaN lies there */
    const float *x, *weights, *bias;
    float lo, hi;
} problem;

/* The whole product by the tiles of one kernel, into y [rows][columns]; between rows of inputs lie `gap` others. Taps lie
 * in reverse, so that nothing may depend on their order. */
static void multiply(nnf_check *c, const nnf_kernel *kernel, const problem *p, size_t gap, float *y)
{
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n, inputs = p->depth / p->taps;
    const size_t k = p->taps > 1 && inputs % (size_t)kernel->k ? 2 : (size_t)kernel->k;
    const int odd = p->odd && kernel->k == 2;
    const size_t pairs = nnf_conv2d_bf16_pairs(p->depth, k), lda = 2 * pairs + gap;
    const size_t strip = (1 + nnf_check_below(c, 3)) * n; /* columns of a call */
    const size_t each = p->taps > 1 ? inputs : 2 * pairs;
    size_t tap[4];
    for (size_t t = 0; t < p->taps; t++)
        tap[t] = (p->taps - 1 - t) * each;
    const size_t read = (p->rows - 1) * lda + 2 * pairs;
    unsigned char *packed = nnf_check_alloc(c, nnf_pack_conv2d_bf16_size(p->columns, p->depth, n, k));
    uint16_t *a = nnf_check_alloc(c, 2 * read);
    nnf_pack_conv2d_bf16(p->columns, p->depth, n, k, p->weights, p->bias, packed);
    for (size_t i = 0; i < p->rows; i++) {
        for (size_t j = 0; j < 2 * pairs; j++)
            a[i * lda + tap[j / each] + j % each] =
                odd && j % each == each - 1 ? 0x7fc0 : j < p->depth ? nnf_bf16_of_f32(p->x[i * p->depth + j]) : 0;
    }
    for (size_t i = 0; i < p->rows; i += m) {
        for (size_t j = 0; j < p->columns; j += strip) {
            nnf_conv2d_bf16_tile tile = {
                .at = p->at, .line = p->line, .span = p->span,
                .rows = p->rows - i < m ? p->rows - i : m, .columns = p->columns - j < strip ? p->columns - j : strip,
                .taps = p->taps, .pairs = each / 2, .odd = odd, .tap = tap, .a = a + i * lda, .lda = lda,
                .w = (const float *)(packed + j / n * nnf_conv2d_bf16_panel(n, pairs)),
                .c = y + j, .ldc = p->columns, .lo = p->lo, .hi = p->hi,
            };
            tile.c += nnf_conv2d_bf16_place(&tile, i) * p->columns;
            tile.at = (p->at + i) % p->span;
            ((nnf_conv2d_bf16_nhwc_fn)kernel->fn)(&tile);
        }
    }
}

static void check_bf16(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem p, bool corners)
{
    const size_t gap = 2 * nnf_check_below(c, 4);
    size_t kept = 0;
    for (size_t i = 0; i < p.rows; i++)
        kept += (p.at + i) % p.span < p.line;
    const size_t outputs = kept * p.columns;
    float *x = nnf_check_alloc(c, 4 * p.rows * p.depth), *weights = nnf_check_alloc(c, 4 * p.columns * p.depth);
    float *bias = nnf_check_alloc(c, 4 * p.columns), *scale = nnf_check_alloc(c, 4 * outputs);
    float *expected = nnf_check_alloc(c, 4 * outputs), *actual = nnf_check_alloc(c, 4 * outputs);
    nnf_check_fill_f32(c, x, p.rows * p.depth, -1, 1);
    nnf_check_fill_f32(c, weights, p.columns * p.depth, -1, 1);
    nnf_check_fill_f32(c, bias, p.columns, -1, 1);
    if (corners) {
        x[nnf_check_below(c, p.rows * p.depth)] = NAN;
        weights[nnf_check_below(c, p.columns * p.depth)] = 1e-39f;
        bias[nnf_check_below(c, p.columns)] = NAN;
    }
    for (size_t k = p.depth / p.taps - 1; p.odd && k < p.columns * p.depth; k += p.depth / p.taps)
        weights[k] = 0;
    for (size_t k = p.depth / p.taps - 1; p.odd && k < p.rows * p.depth; k += p.depth / p.taps)
        x[k] = 0;
    p.x = x, p.weights = weights, p.bias = bias;
    for (size_t i = 0, to = 0; i < p.rows; i++) {
        if ((p.at + i) % p.span >= p.line)
            continue;
        for (size_t j = 0; j < p.columns; j++, to++) {
            double sum = fabs((double)bias[j]);
            for (size_t k = 0; k < p.depth; k++)
                sum += fabs((double)x[i * p.depth + k] * weights[j * p.depth + k]);
            scale[to] = (float)sum;
        }
    }
    multiply(c, twin, &p, gap, expected);
    multiply(c, kernel, &p, gap, actual);
    nnf_check_f32(c, expected, actual, outputs, scale, p.depth + 1);
    nnf_check_done(c, "rows=%zu columns=%zu taps=%zu depth=%zu keep=%zu+%zu/%zu clamp=%g..%g", p.rows, p.columns, p.taps,
                   p.depth, p.at, p.line, p.span, (double)p.lo, (double)p.hi);
}

static void layer_bf16(const nnf_kernel *kernel, const size_t *layer, const uint16_t *a, const unsigned char *w,
                       float *y)
{
    const size_t rows = layer[0], columns = layer[1], depth = layer[2];
    const size_t m = kernel->m < 32 ? (size_t)kernel->m : 32, tiles = (rows + m - 1) / m;
    const size_t pairs = nnf_conv2d_bf16_pairs(depth, (size_t)kernel->k), tap = 0;
    for (size_t t = 0; t < tiles; t++) {
        const size_t first = t * rows / tiles, last = (t + 1) * rows / tiles;
        const nnf_conv2d_bf16_tile tile = {
            .rows = last - first, .columns = columns, .taps = 1, .line = m, .span = m, .pairs = pairs, .tap = &tap,
            .a = a + first * depth, .lda = depth, .w = (const float *)w, .c = y + first * columns, .ldc = columns,
            .lo = 0, .hi = 6,
        };
        ((nnf_conv2d_bf16_nhwc_fn)kernel->fn)(&tile);
    }
}

static void bench_bf16(nnf_check *c, const nnf_kernel *kernel)
{
    const size_t n = (size_t)kernel->n, k = (size_t)kernel->k;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const size_t rows = layers[i][0], columns = layers[i][1], depth = layers[i][2];
        uint16_t *a = nnf_check_alloc(c, 2 * rows * depth);
        float *y = nnf_check_alloc(c, 4 * rows * columns), *weights = nnf_check_alloc(c, 4 * columns * depth);
        float *bias = nnf_check_alloc(c, 4 * columns);
        unsigned char *w = nnf_check_alloc(c, nnf_pack_conv2d_bf16_size(columns, depth, n, k));
        nnf_check_fill_f32(c, weights, columns * depth, -1, 1);
        nnf_check_fill_f32(c, bias, columns, -1, 1);
        for (size_t r = 0; r < rows * depth; r++)
            a[r] = nnf_bf16_of_f32(nnf_check_float(c, -1, 1));
        nnf_pack_conv2d_bf16(columns, depth, n, k, weights, bias, w);
        char label[64];
        snprintf(label, sizeof label, "%zux%zux%zu", rows, columns, depth);
        NNF_BENCH(c, label, rows * columns * depth, layer_bf16(kernel, layers[i], a, w, y));
        nnf_check_done(c, "bench %s", label);
    }
}

void nnf_check_conv2d_bf16_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    static const size_t inner[][2] = {{1, 1}, {1, 2}, {1, 3}, {1, 27}, {1, 31}, {1, 32}, {1, 33}, {1, 65}, {1, 100},
                                      {1, 160}, {2, 32}, {3, 64}, {4, 32},
                                      {2, 2}, {3, 12}, {4, 28}};
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n;
    const size_t columns[] = {1, n / 2 - 1, n / 2, n / 2 + 1, n - 1, n, n + 1, 2 * n + n / 2 + 1};
    /* Every number of rows up to a few blocks of the widest kernel, then those around a whole tile. */
    for (size_t rows = 1; rows <= m + 1; rows += rows == 70 && m > 70 ? m - 1 - rows : 1) {
        for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++) {
            for (int i = 0; i < 3; i++) {
                const bool clamp = nnf_check_below(c, 2);
                const size_t *shape = inner[nnf_check_below(c, sizeof inner / sizeof inner[0])];
                const size_t span = 1 + nnf_check_below(c, nnf_check_below(c, 2) ? 5 : 40);
                const problem p = {.at = nnf_check_below(c, span), .line = 1 + nnf_check_below(c, span), .span = span,
                                   .rows = rows, .columns = columns[j], .taps = shape[0], .depth = shape[0] * shape[1],
                                   .odd = shape[1] % 2 == 0 && nnf_check_below(c, 3) == 0, .lo = clamp ? 0 : -INFINITY, .hi = clamp ? 6 : INFINITY};
                check_bf16(c, twin, kernel, p, i == 2);
            }
        }
    }
    if (c->bench)
        bench_bf16(c, kernel);
}

void nnf_check_conv2d_gather_bf16_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_conv2d_gather_bf16_nhwc_fn slow = (nnf_conv2d_gather_bf16_nhwc_fn)twin->fn;
    const nnf_conv2d_gather_bf16_nhwc_fn fast = (nnf_conv2d_gather_bf16_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(32, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t rows = 1; rows <= 3; rows++) {
            const size_t n = sizes[s], ldx = n / 2 + nnf_check_below(c, n), ldt = n + nnf_check_below(c, 5);
            const size_t read = (rows - 1) * ldx + n, written = (rows - 1) * ldt + n;
            float *x = nnf_check_alloc(c, 4 * read);
            uint16_t *expected = nnf_check_alloc(c, 2 * written), *actual = nnf_check_alloc(c, 2 * written);
            for (size_t i = 0; i < read; i++) {
                /* Any bits at all, and halves between two bfloat16, which go to the even one. */
                const uint32_t bits = nnf_check_u32(c), tie = (bits & UINT32_C(0xffff0000)) | 0x8000;
                memcpy(x + i, nnf_check_below(c, 2) ? &bits : &tie, 4);
                if (nnf_check_below(c, 4) == 0) {
                    const uint32_t exponent = nnf_check_below(c, 2) ? 0 : UINT32_C(0x7f800000);
                    const uint32_t edge = (bits & UINT32_C(0x807fffff)) | exponent;
                    memcpy(x + i, &edge, 4);
                }
            }
            memset(expected, 0, 2 * written);
            memset(actual, 0, 2 * written);
            slow(rows, n, x, ldx, expected, ldt);
            fast(rows, n, x, ldx, actual, ldt);
            nnf_check_bytes(c, expected, actual, 2 * written);
            nnf_check_done(c, "rows=%zu n=%zu ldx=%zu ldt=%zu", rows, n, ldx, ldt);
        }
    }
    const size_t n = 256, rows = 32;
    float *x = nnf_check_alloc(c, 4 * n * rows);
    uint16_t *to = nnf_check_alloc(c, 2 * n * rows);
    nnf_check_fill_f32(c, x, n * rows, -1, 1);
    NNF_BENCH(c, "32x256", n * rows, fast(rows, n, x, n, to, n));
    NNF_BENCH(c, "32x9", 9 * rows, fast(rows, 9, x, 6, to, 32));
    nnf_check_done(c, "bench");
}

void nnf_check_conv2d_spread_bf16_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_conv2d_spread_bf16_nhwc_fn slow = (nnf_conv2d_spread_bf16_nhwc_fn)twin->fn;
    const nnf_conv2d_spread_bf16_nhwc_fn fast = (nnf_conv2d_spread_bf16_nhwc_fn)kernel->fn;
    for (size_t pixels = 1; pixels <= 35; pixels++) {
        for (size_t channels = 1; channels <= 16; channels++) {
            const size_t pixel = channels + nnf_check_below(c, 17 - channels);
            float *x = nnf_check_alloc(c, 4 * pixels * channels);
            uint16_t *expected = nnf_check_alloc(c, 2 * pixels * pixel);
            uint16_t *actual = nnf_check_alloc(c, 2 * pixels * pixel);
            for (size_t i = 0; i < pixels * channels; i++) {
                const uint32_t bits = nnf_check_u32(c);
                memcpy(x + i, &bits, 4);
            }
            slow(pixels, channels, x, pixel, expected);
            fast(pixels, channels, x, pixel, actual);
            nnf_check_bytes(c, expected, actual, 2 * pixels * pixel);
            nnf_check_done(c, "pixels=%zu channels=%zu pixel=%zu", pixels, channels, pixel);
        }
    }
    float *x = nnf_check_alloc(c, 4 * 224 * 3);
    uint16_t *to = nnf_check_alloc(c, 2 * 224 * 4);
    nnf_check_fill_f32(c, x, 224 * 3, -1, 1);
    NNF_BENCH(c, "224x3", 224 * 3, fast(224, 3, x, 4, to));
    nnf_check_done(c, "bench");
}
