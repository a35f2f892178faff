#include "check.h"
#include "checks.h"
#include "conv2d_layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conv2d/conv2d.h"

typedef struct problem_q8 {
    size_t rows, columns, depth, lda;
    const uint8_t *x, *weights;
    const int32_t *offset;
    nnf_conv2d_q8_scheme scheme;
    int32_t zero_point, lo, hi;
    uint8_t flip;
    bool few; /* large codes */
    nnf_conv2d_q8_values values;
    const double *scale;
} problem_q8;

/* Bytes of an output value. */
static size_t size_q8(const nnf_kernel *kernel)
{
    return strstr(kernel->op, "_s32_") || strstr(kernel->op, "_f32_") ? 4 : 1;
}

/* Those of a tile whose first row is `row`, and whose first column is `column`. */
static nnf_conv2d_q8_values values_at(const nnf_conv2d_q8_values *all, size_t row, size_t column)
{
    nnf_conv2d_q8_values values = *all;
    values.row += row * values.next;
    values.by.weights += column;
    values.by.scale += column;
    values.by.bias += column;
    return values;
}

/* step: columns of a call. */
static void multiply_q8(nnf_check *c, const nnf_kernel *kernel, const problem_q8 *p, size_t step, uint8_t *y)
{
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n, k = (size_t)kernel->k;
    const size_t groups = nnf_conv2d_q8_groups(p->depth, k);
    unsigned char *packed = nnf_check_alloc(c, nnf_pack_conv2d_q8_size(p->columns, p->depth, n, k));
    nnf_pack_conv2d_q8(p->columns, p->depth, n, k, p->weights, p->depth, &p->scheme, packed);
    if (kernel->isa == NNF_ISA_AVX2 || kernel->isa == NNF_ISA_AVX512)
        nnf_limit_conv2d_q8(p->columns, p->depth, n, packed);
    if (kernel->isa == NNF_ISA_NEON)
        nnf_mark_mild_conv2d_q8(p->columns, p->depth, n, packed);
    for (size_t i = 0; i < p->rows; i += m) {
        const size_t rows = p->rows - i < m ? p->rows - i : m;
        for (size_t j = 0; j < p->columns; j += step) {
            const nnf_conv2d_q8_values values = values_at(&p->values, i, j);
            const nnf_conv2d_q8_tile tile = {
                .rows = rows, .columns = p->columns - j < step ? p->columns - j : step, .groups = groups,
                .a = p->x + i * p->lda, .lda = p->lda, .offset = p->offset ? p->offset + i : NULL,
                .w = (const int32_t *)(packed + j / n * nnf_conv2d_q8_panel(n, groups)),
                .c = y + (i * p->columns + j) * size_q8(kernel), .ldc = p->columns,
                .zero_point = p->zero_point, .lo = p->lo, .hi = p->hi, .flip = p->flip,
                .streamed = (uint8_t)nnf_check_below(c, 2), .values = &values, .scale = p->scale + j,
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

/* Scales, biases and sums of weights of `columns` columns, and codes of `rows` rows. */
static nnf_conv2d_q8_values draw_values(nnf_check *c, size_t rows, size_t columns)
{
    nnf_row_codes *row = nnf_check_alloc(c, rows * sizeof *row);
    int32_t *weights = nnf_check_alloc(c, 4 * columns);
    float *scale = nnf_check_alloc(c, 4 * columns), *bias = nnf_check_alloc(c, 4 * columns);
    for (size_t i = 0; i < rows; i++)
        row[i] = (nnf_row_codes){.step = (float)(1 + nnf_check_below(c, 1000)) * 0.0013f,
                                 .zero = (int32_t)nnf_check_below(c, 256)};
    for (size_t j = 0; j < columns; j++) {
        weights[j] = (int32_t)nnf_check_u32(c) >> nnf_check_below(c, 24);
        scale[j] = (float)(1 + nnf_check_below(c, 1000)) * 0.00017f;
        bias[j] = ((float)nnf_check_below(c, 2000) - 1000.0f) * 0.3f;
    }
    const bool is_short = nnf_check_below(c, 2); /* sums of few inputs */
    for (size_t j = 0; j < columns && is_short; j++)
        weights[j] = (int32_t)nnf_check_below(c, 65536) - 32768;
    const bool is_clamped = nnf_check_below(c, 2);
    return (nnf_conv2d_q8_values){.row = row, .next = nnf_check_below(c, 2),
                                  .by = {.weights = weights, .scale = scale, .bias = bias,
                                         .by_rows = (int)nnf_check_below(c, 2),
                                         .lo = is_clamped ? -50.0f : -INFINITY, .hi = is_clamped ? 700.0f : INFINITY}};
}

/* Scales of columns: of a layer, or such that many a sum of few inputs is a half of a step, or next to one. */
static const double *draw_scales(nnf_check *c, size_t columns)
{
    double *scale = nnf_check_alloc(c, sizeof *scale * columns);
    for (size_t j = 0; j < columns; j++) {
        const double exact = ldexp((double)(1 + nnf_check_below(c, 9)), -(int)nnf_check_below(c, 20));
        const size_t kind = nnf_check_below(c, 4);
        scale[j] = kind == 0 ? exact : kind == 1 ? nextafter(exact, 0) : kind == 2 ? nextafter(exact, 1e9)
                                                                                   : 1e-6 * (double)nnf_check_below(c, 90000);
    }
    return scale;
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
    p.values = draw_values(c, p.rows, p.columns);
    p.scale = draw_scales(c, p.columns);
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
                     const nnf_conv2d_q8_values *all, const double *scale, uint8_t *y)
{
    const size_t rows = layer[0], columns = layer[1], depth = layer[2];
    const size_t n = (size_t)kernel->n, tiles = (rows + (size_t)kernel->m - 1) / (size_t)kernel->m;
    const size_t groups = nnf_conv2d_q8_groups(depth, (size_t)kernel->k);
    const size_t step = nnf_conv2d_q8_wide((size_t)kernel->m, (size_t)kernel->k) ? columns : n;
    for (size_t j = 0; j < columns; j += step) {
        for (size_t t = 0; t < tiles; t++) {
            const size_t first = t * rows / tiles, last = (t + 1) * rows / tiles;
            const nnf_conv2d_q8_values values = values_at(all, first, j);
            const nnf_conv2d_q8_tile tile = {
                .rows = last - first, .columns = step, .groups = groups, .a = x + first * depth, .lda = depth,
                .w = (const int32_t *)(w + j / n * nnf_conv2d_q8_panel(n, groups)),
                .c = y + (first * columns + j) * size_q8(kernel), .ldc = columns, .zero_point = 128, .hi = 255,
                .values = &values, .scale = scale + j,
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
        nnf_pack_conv2d_q8(columns, depth, n, k, weights, depth, &scheme, w);
        const nnf_conv2d_q8_values values = draw_values(c, rows, columns);
        double *scale = nnf_check_alloc(c, sizeof *scale * columns);
        for (size_t j = 0; j < columns; j++)
            scale[j] = 0.0013;
        char label[64];
        snprintf(label, sizeof label, "%zux%zux%zu", rows, columns, depth);
        NNF_BENCH(c, label, rows * columns * depth, layer_q8(kernel, layers[i], x, w, &values, scale, y));
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
NNF_CHECK(conv2d_f32_qu8_qs8c_nhwc, nnf_check_conv2d_qu8_qs8c_nhwc(c, twin, kernel))
NNF_CHECK(conv2d_once_qu8_qs8c_nhwc, nnf_check_conv2d_qu8_qs8c_nhwc(c, twin, kernel))
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
