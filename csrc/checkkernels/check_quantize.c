#include "check.h"
#include "checks.h"

#include <math.h>
#include <string.h>

#include "quantize/quantize.h"

void nnf_check_quantize_f32_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_quantize_f32_qu8_flat_fn slow = (nnf_quantize_f32_qu8_flat_fn)twin->fn;
    const nnf_quantize_f32_qu8_flat_fn fast = (nnf_quantize_f32_qu8_flat_fn)kernel->fn;
    static const float nasty[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0.49999997f, -0.49999997f, 0.5f, -0.5f, 1.5f,
                                  -2.5f, 3e38f, -3e38f, 1e-40f, 255.5f, -511.5f};
    static const float odd[] = {1e-41f, 1e-38f, 8e-19f, 9e-19f, 1.1e18f, 1.2e18f, 1e30f, 1e35f};
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 64; form++) {
            const size_t n = sizes[s];
            const int32_t lo = form & 1 ? -128 : 0, zero = lo + (int32_t)nnf_check_below(c, 256);
            const float some = form & 8 ? odd[form / 8] : nnf_check_float(c, 0.001f, 0.1f);
            const float scale = form & 2 ? 1.0f : some;
            float *x = nnf_check_alloc(c, 4 * n);
            uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            nnf_check_fill_f32(c, x, n, -300, 300);
            for (size_t i = 0; i < n; i++) { /* at halves and next to them, or anywhere */
                x[i] = form & 4 ? (floorf(x[i]) + 0.5f) * scale : x[i] * scale;
                for (size_t k = nnf_check_below(c, 4); k > 0 && form & 4; k--)
                    x[i] = nextafterf(x[i], form & 16 ? INFINITY : -INFINITY);
            }
            x[nnf_check_below(c, n)] = nasty[nnf_check_below(c, sizeof nasty / sizeof nasty[0])];
            slow(n, x, expected, scale, zero, lo, lo + 255);
            fast(n, x, actual, scale, zero, lo, lo + 255);
            nnf_check_bytes(c, expected, actual, n);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    float *x = nnf_check_alloc(c, 4 * n);
    uint8_t *y = nnf_check_alloc(c, n);
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, x, y, 0.05f, 128, 0, 255));
    nnf_check_done(c, "bench");
}

static void check_dequantize(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int32_t lo)
{
    const nnf_dequantize_q8_f32_flat_fn slow = (nnf_dequantize_q8_f32_flat_fn)twin->fn;
    const nnf_dequantize_q8_f32_flat_fn fast = (nnf_dequantize_q8_f32_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 16; form++) {
            const size_t n = sizes[s], step = form & 1, scales = step ? n : 1;
            const int32_t zero = lo + (int32_t)nnf_check_below(c, 256);
            uint8_t *x = nnf_check_alloc(c, n);
            float *scale = nnf_check_alloc(c, 4 * scales);
            float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_bytes(c, x, n);
            nnf_check_fill_f32(c, scale, scales, 0.001f, 2.0f);
            slow(n, x, expected, zero, scale, step);
            fast(n, x, actual, zero, scale, step);
            nnf_check_f32(c, expected, actual, n, NULL, 0);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    uint8_t *x = nnf_check_alloc(c, n);
    float *y = nnf_check_alloc(c, 4 * n), *scale = nnf_check_alloc(c, 4);
    nnf_check_fill_bytes(c, x, n);
    *scale = 0.05f;
    NNF_BENCH(c, "n=1024", n, fast(n, x, y, 128, scale, 0));
    nnf_check_done(c, "bench");
}

NNF_CHECK(dequantize_qu8_f32_flat, check_dequantize(c, twin, kernel, 0))
NNF_CHECK(dequantize_qs8_f32_flat, check_dequantize(c, twin, kernel, -128))

void nnf_check_requantize_s32_qu8_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_requantize_s32_qu8_rows_fn slow = (nnf_requantize_s32_qu8_rows_fn)twin->fn;
    const nnf_requantize_s32_qu8_rows_fn fast = (nnf_requantize_s32_qu8_rows_fn)kernel->fn;
    static const double nasty[] = {0, INFINITY, NAN, 0.5, 1.5, 1e300, 1e-300, 0.49999999999999994};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 32; form++) {
            const size_t n = sizes[s], rows = 1 + form % 3, ldx = n + form % 2, ldy = n + form % 5;
            nnf_codes codes = {.zero_point = (int32_t)nnf_check_below(c, 256), .hi = 255, .flip = form & 1 ? 0x80 : 0};
            if (form & 4) {
                codes.lo = (int32_t)nnf_check_below(c, 100);
                codes.hi = 156 + (int32_t)nnf_check_below(c, 100);
            }
            int32_t *x = nnf_check_alloc(c, 4 * ((rows - 1) * ldx + n));
            double *scale = nnf_check_alloc(c, 8 * n);
            const size_t bytes = (rows - 1) * ldy + n;
            uint8_t *expected = nnf_check_alloc(c, bytes), *actual = nnf_check_alloc(c, bytes);
            for (size_t i = 0; i < (rows - 1) * ldx + n; i++)
                x[i] = (int32_t)nnf_check_u32(c) >> (form & 8 ? 0 : 16);
            for (size_t j = 0; j < n; j++)
                scale[j] = form & 16 ? 1.0 / 64 : nnf_check_float(c, 0.0005f, 0.005f);
            for (size_t j = 0; form >= 24 && j < n; j++) { /* what is next to a half, in floats a half */
                const double half = nnf_check_below(c, 200) + 0.5, steps = (double)nnf_check_below(c, 5) - 2;
                x[j] = x[j] | 1;
                scale[j] = half / x[j] * (1 + steps * (form & 1 ? 0x1p-52 : 0x1p-24));
            }
            scale[nnf_check_below(c, n)] = nasty[nnf_check_below(c, sizeof nasty / sizeof nasty[0])];
            slow(rows, n, x, ldx, scale, &codes, expected, ldy);
            fast(rows, n, x, ldx, scale, &codes, actual, ldy);
            nnf_check_bytes(c, expected, actual, bytes);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    int32_t *x = nnf_check_alloc(c, 4 * n);
    double *scale = nnf_check_alloc(c, 8 * n);
    uint8_t *y = nnf_check_alloc(c, n);
    for (size_t j = 0; j < n; j++)
        x[j] = (int32_t)nnf_check_u32(c) >> 16, scale[j] = 0.002;
    const nnf_codes codes = {.zero_point = 128, .hi = 255};
    NNF_BENCH(c, "1x1024", n, fast(1, n, x, n, scale, &codes, y, n));
    nnf_check_done(c, "bench");
}

/* Values of a size and form, with a NaN or an infinity in some. */
static float *row_values(nnf_check *c, size_t n, size_t form)
{
    float *x = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, form & 2 ? -3 : 0, form & 4 ? 5 : 0);
    if (form & 8)
        x[nnf_check_below(c, n)] = form & 4 ? NAN : INFINITY;
    return x;
}

void nnf_check_range_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 16; form++) {
            const float *x = row_values(c, sizes[s], form);
            float expected[2], actual[2];
            ((nnf_range_f32_flat_fn)twin->fn)(sizes[s], x, expected);
            ((nnf_range_f32_flat_fn)kernel->fn)(sizes[s], x, actual);
            for (size_t k = 0; k < 2; k++) { /* of zeros either sign will do */
                expected[k] += 0.0f;
                actual[k] += 0.0f;
            }
            nnf_check_bytes(c, expected, actual, sizeof actual);
            nnf_check_done(c, "n=%zu form=%zu", sizes[s], form);
        }
    }
    float *x = nnf_check_alloc(c, 4 * 65536), range[2];
    nnf_check_fill_f32(c, x, 65536, -8, 8);
    NNF_BENCH(c, "n=65536", 65536, ((nnf_range_f32_flat_fn)kernel->fn)(65536, x, range));
    nnf_check_done(c, "bench");
}

void nnf_check_quantize_range_f32_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 32; form++) {
            const size_t n = sizes[s];
            const float *x = row_values(c, n, form / 2);
            uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            const float range[2] = {-(float)nnf_check_below(c, 9), (float)nnf_check_below(c, 9)};
            nnf_row_codes rows[2];
            ((nnf_quantize_range_f32_qu8_flat_fn)twin->fn)(n, x, expected, form & 1, range, rows);
            ((nnf_quantize_range_f32_qu8_flat_fn)kernel->fn)(n, x, actual, form & 1, range, rows + 1);
            nnf_check_bytes(c, expected, actual, n);
            nnf_check_bytes(c, rows, rows + 1, sizeof rows[0]);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
}

void nnf_check_quantize_row_f32_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_quantize_row_f32_qu8_flat_fn slow = (nnf_quantize_row_f32_qu8_flat_fn)twin->fn;
    const nnf_quantize_row_f32_qu8_flat_fn fast = (nnf_quantize_row_f32_qu8_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 16; form++) {
            const size_t n = sizes[s];
            const float *x = row_values(c, n, form);
            uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            nnf_row_codes rows[2];
            slow(n, x, expected, form & 1, rows);
            fast(n, x, actual, form & 1, rows + 1);
            nnf_check_bytes(c, expected, actual, n);
            nnf_check_bytes(c, rows, rows + 1, sizeof rows[0]);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    float *x = nnf_check_alloc(c, 4 * n);
    uint8_t *y = nnf_check_alloc(c, n);
    nnf_row_codes row;
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, x, y, 1, &row));
    const size_t several = 128 * 997;
    float *rows = nnf_check_alloc(c, 4 * several);
    nnf_check_fill_f32(c, rows, several, -8, 8);
    NNF_BENCH(c, "997x128", several, for (size_t i = 0; i < several; i += 128) fast(128, rows + i, y, 1, &row));
    nnf_check_done(c, "bench");
}

void nnf_check_dequantize_s32_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_dequantize_s32_f32_rows_fn slow = (nnf_dequantize_s32_f32_rows_fn)twin->fn;
    const nnf_dequantize_s32_f32_rows_fn fast = (nnf_dequantize_s32_f32_rows_fn)kernel->fn;
    size_t sizes[9 + 4];
    nnf_check_sizes(16, sizes + 4);
    for (size_t s = 0; s < 4; s++)
        sizes[s] = (size_t)1 << s; /* rows of which whole ones fill a vector, if they lie one behind the other */
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 32; form++) {
            const size_t n = sizes[s], rows = form < 16 ? 1 + form % 3 : 3 + form;
            const size_t ldx = n + form % 2, ldy = n + form % 5;
            const size_t count = (rows - 1) * ldy + n;
            int32_t *x = nnf_check_alloc(c, 4 * ((rows - 1) * ldx + n)), *weights = nnf_check_alloc(c, 4 * n);
            float *scale = nnf_check_alloc(c, 4 * n), *bias = nnf_check_alloc(c, 4 * n);
            float *expected = nnf_check_alloc(c, 4 * count), *actual = nnf_check_alloc(c, 4 * count);
            for (size_t i = 0; i < (rows - 1) * ldx + n; i++)
                x[i] = (int32_t)nnf_check_u32(c) >> (form & 8 ? 0 : 10);
            for (size_t j = 0; j < n; j++)
                weights[j] = (int32_t)nnf_check_u32(c) >> 16;
            nnf_check_fill_f32(c, scale, n, 0.0005f, 0.005f);
            nnf_check_fill_f32(c, bias, n, -3, 3);
            nnf_check_fill_f32(c, expected, count, 0, 0);
            nnf_check_fill_f32(c, actual, count, 0, 0);
            const size_t next = form / 8 % 2;
            nnf_row_codes *row = nnf_check_alloc(c, sizeof *row * (next ? rows : 1));
            for (size_t i = 0; i < (next ? rows : 1); i++)
                row[i] = (nnf_row_codes){.step = nnf_check_float(c, 0.001f, 0.1f),
                                         .zero = (int32_t)nnf_check_below(c, 256)};
            const nnf_sum_scales by = {.weights = weights, .scale = scale, .bias = bias, .by_rows = form & 1,
                                       .lo = form & 2 ? 0 : -INFINITY, .hi = form & 4 ? 6 : INFINITY};
            slow(rows, n, x, ldx, row, next, &by, expected, ldy);
            fast(rows, n, x, ldx, row, next, &by, actual, ldy);
            nnf_check_f32(c, expected, actual, count, NULL, 0);
            const size_t held = (rows - 1) * ldx + n;
            float *in_place = nnf_check_alloc(c, 4 * held), *apart = nnf_check_alloc(c, 4 * held);
            memcpy(in_place, x, 4 * held);
            memcpy(apart, x, 4 * held);
            slow(rows, n, x, ldx, row, next, &by, apart, ldx);
            fast(rows, n, (const int32_t *)in_place, ldx, row, next, &by, in_place, ldx);
            nnf_check_bytes(c, apart, in_place, 4 * held);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    int32_t *x = nnf_check_alloc(c, 4 * n), *weights = nnf_check_alloc(c, 4 * n);
    float *scale = nnf_check_alloc(c, 4 * n), *bias = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    for (size_t j = 0; j < n; j++)
        x[j] = (int32_t)nnf_check_u32(c) >> 16, weights[j] = 7;
    nnf_check_fill_f32(c, scale, n, 0.001f, 0.002f);
    nnf_check_fill_f32(c, bias, n, -1, 1);
    const nnf_row_codes row = {.step = 0.01f, .zero = 120};
    const nnf_sum_scales by = {.weights = weights, .scale = scale, .bias = bias, .lo = -INFINITY, .hi = INFINITY};
    NNF_BENCH(c, "1x1024", n, fast(1, n, x, n, &row, 0, &by, y, n));
    nnf_check_done(c, "bench");
}

void nnf_check_scale_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_scale_f32_rows_fn slow = (nnf_scale_f32_rows_fn)twin->fn, fast = (nnf_scale_f32_rows_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 12; form++) {
            const size_t n = sizes[s], rows = 1 + form % 3, count = rows * n;
            float *x = nnf_check_alloc(c, 4 * count), *scale = nnf_check_alloc(c, 4 * n), *bias = nnf_check_alloc(c, 4 * n);
            float *expected = nnf_check_alloc(c, 4 * count), *actual = nnf_check_alloc(c, 4 * count);
            nnf_check_fill_f32(c, x, count, -1e7f, 1e7f);
            nnf_check_fill_f32(c, scale, n, 0.0005f, 0.005f);
            nnf_check_fill_f32(c, bias, n, -3, 3);
            if (form & 8)
                x[nnf_check_below(c, count)] = form & 1 ? NAN : INFINITY;
            const float step = nnf_check_float(c, 0.001f, 0.1f);
            const float lo = form & 2 ? 0 : -INFINITY, hi = form & 4 ? 6 : INFINITY;
            slow(rows, n, x, step, scale, bias, lo, hi, expected);
            fast(rows, n, x, step, scale, bias, lo, hi, actual);
            nnf_check_f32(c, expected, actual, count, NULL, 0);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    float *x = nnf_check_alloc(c, 4 * n), *scale = nnf_check_alloc(c, 4 * n), *bias = nnf_check_alloc(c, 4 * n);
    float *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, -1000, 1000);
    nnf_check_fill_f32(c, scale, n, 0.001f, 0.002f);
    nnf_check_fill_f32(c, bias, n, -1, 1);
    NNF_BENCH(c, "1x1024", n, fast(1, n, x, 0.01f, scale, bias, -INFINITY, INFINITY, y));
    nnf_check_done(c, "bench");
}
