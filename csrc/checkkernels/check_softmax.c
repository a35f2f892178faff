#include "check.h"
#include "checks.h"

#include <math.h>
#include <stdio.h>

#include "nnf/fixedpoint.h"
#include "nnf/math_scalar.h"
#include "softmax/softmax.h"

void nnf_check_softmax_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_softmax_f32_rows_fn slow = (nnf_softmax_f32_rows_fn)twin->fn, fast = (nnf_softmax_f32_rows_fn)kernel->fn;
    const float spread[] = {0.0f, 1.0f, 8.0f, 60.0f}, betas[] = {1.0f, 0.25f, 3.0f};
    size_t sizes[9];
    nnf_check_sizes(32, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 12; form++) {
            const size_t n = form % 5 == 4 ? 1001 : sizes[s];
            float *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, x, n, -spread[form % 4], spread[form % 4] + 1);
            slow(n, x, expected, betas[form % 3]);
            fast(n, x, actual, betas[form % 3]);
            nnf_check_flushed(expected, actual, n);
            nnf_check_f32(c, expected, actual, n, NULL, 0);
            fast(n, x, x, betas[form % 3]);
            nnf_check_f32(c, expected, x, n, NULL, 0);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 128; /* a tail beside the guard page would be what is measured */
    float *x = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=128", n, fast(n, x, y, 1.0f));
    nnf_check_done(c, "bench");
}

/* The sum is a double one: the bound does not grow with n. */
void nnf_check_log_softmax_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_log_softmax_f32_rows_fn slow = (nnf_log_softmax_f32_rows_fn)twin->fn;
    const nnf_log_softmax_f32_rows_fn fast = (nnf_log_softmax_f32_rows_fn)kernel->fn;
    const float spread[] = {0.0f, 1.0f, 8.0f, 60.0f}, betas[] = {1.0f, 0.25f, -3.0f, 0.0f};
    static const float nasty[] = {INFINITY, -INFINITY, NAN, 1e-40f};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 48; form++) {
            const size_t n = form % 5 == 4 ? 1001 : sizes[s];
            const float beta = betas[form / 4 % 4];
            float *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n), *scale = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, x, n, -spread[form % 4], spread[form % 4] + 1);
            if (form >= 32)
                x[nnf_check_below(c, n)] = nasty[nnf_check_below(c, 4)];
            slow(n, x, expected, beta);
            for (size_t i = 0; i < n; i++)
                scale[i] = 1.0f + fabsf(expected[i]);
            fast(n, x, actual, beta);
            nnf_check_f32(c, expected, actual, n, scale, 1);
            fast(n, x, x, beta);
            nnf_check_f32(c, expected, x, n, scale, 1);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 128; /* a tail beside the guard page would be what is measured */
    float *x = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=128", n, fast(n, x, y, 1.0f));
    nnf_check_done(c, "bench");
}

/* All widths, rows at the edges of blocks, and odd values in some rows, which must not reach the others. */
static void check_narrow(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, const float betas[4])
{
    const nnf_softmax_narrow_f32_rows_fn slow = (nnf_softmax_narrow_f32_rows_fn)twin->fn;
    const nnf_softmax_narrow_f32_rows_fn fast = (nnf_softmax_narrow_f32_rows_fn)kernel->fn;
    const float spread[] = {0.0f, 1.0f, 8.0f, 60.0f};
    static const float nasty[] = {INFINITY, -INFINITY, NAN, 1e-40f};
    static const size_t counts[] = {1, 3, 4, 5, 8, 15, 16, 17, 35};
    for (size_t n = 1; n <= NNF_SOFTMAX_NARROW; n++) {
        for (size_t form = 0; form < 36; form++) {
            const size_t rows = counts[form % 9], count = rows * n;
            const float beta = betas[form / 9];
            float *x = nnf_check_alloc(c, 4 * count), *expected = nnf_check_alloc(c, 4 * count);
            float *actual = nnf_check_alloc(c, 4 * count), *scale = nnf_check_alloc(c, 4 * count);
            nnf_check_fill_f32(c, x, count, -spread[form % 4], spread[form % 4] + 1);
            for (size_t row = 0; form % 2 && row < rows; row += 4)
                x[row * n + nnf_check_below(c, n)] = nasty[nnf_check_below(c, 4)];
            slow(rows, n, x, expected, beta);
            for (size_t i = 0; i < count; i++)
                scale[i] = 1.0f + fabsf(expected[i]);
            fast(rows, n, x, actual, beta);
            nnf_check_flushed(expected, actual, count);
            nnf_check_f32(c, expected, actual, count, scale, 1);
            fast(rows, n, x, x, beta);
            nnf_check_bytes(c, actual, x, 4 * count);
            nnf_check_done(c, "rows=%zu n=%zu form=%zu", rows, n, form);
        }
    }
    static const size_t widths[] = {2, 3, 5, 8, 10, 21, 29, 32};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const size_t n = widths[i], count = 1024 * n;
        float *x = nnf_check_alloc(c, 4 * count), *y = nnf_check_alloc(c, 4 * count);
        char label[32];
        snprintf(label, sizeof label, "rows=1024 n=%zu", n);
        nnf_check_fill_f32(c, x, count, -8, 8);
        NNF_BENCH(c, label, count, fast(1024, n, x, y, 1.0f));
        nnf_check_done(c, "bench");
    }
}

static const float any_beta[] = {1.0f, 0.25f, -3.0f, 0.0f}, positive_beta[] = {1.0f, 0.25f, 3.0f, 1.0f};

NNF_CHECK(softmax_narrow_f32_rows, check_narrow(c, twin, kernel, positive_beta))
NNF_CHECK(log_softmax_narrow_f32_rows, check_narrow(c, twin, kernel, any_beta))

/* Against the twin, and that a higher code never gets a lower probability. */
static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, uint8_t flip)
{
    const nnf_softmax_q8_rows_fn slow = (nnf_softmax_q8_rows_fn)twin->fn, fast = (nnf_softmax_q8_rows_fn)kernel->fn;
    static const size_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 19, 31, 255, 256, 257, 1001, 2049, 20000};
    int32_t *power = NULL;
    for (size_t form = 0; form < 64; form++) {
        const size_t n = sizes[form % 16];
        uint8_t *x = nnf_check_alloc(c, n), *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        power = nnf_check_alloc(c, 4 * 512);
        for (int d = 0; d < 256; d++) {
            const double exact = nnf_exp_neg(-d * (form < 16 ? 0.05 : form < 32 ? 0.9 : form < 48 ? 0.001 : 0)) * 2147483648.0;
            power[d] = exact >= 2147483647.0 ? INT32_MAX : (int32_t)exact;
            power[256 + d] = nnf_rdbpot(power[d], 12);
        }
        nnf_check_fill_bytes(c, x, n);
        slow(n, x, expected, power);
        fast(n, x, actual, power);
        nnf_check_bytes(c, expected, actual, n);
        for (size_t i = 1; i < n; i++) {
            const bool above = (x[i] ^ flip) > (x[i - 1] ^ flip), higher = (actual[i] ^ flip) >= (actual[i - 1] ^ flip);
            if (above && !higher)
                nnf_check_bytes(c, actual + i - 1, actual + i, 1);
        }
        fast(n, x, x, power);
        nnf_check_bytes(c, expected, x, n);
        nnf_check_done(c, "n=%zu form=%zu", n, form);
    }
    const size_t n = 1001;
    uint8_t *x = nnf_check_alloc(c, n), *y = nnf_check_alloc(c, n);
    power = nnf_check_alloc(c, 4 * 512);
    for (int d = 0; d < 256; d++) {
        power[d] = INT32_MAX >> (d / 8 < 31 ? d / 8 : 31);
        power[256 + d] = nnf_rdbpot(power[d], 12);
    }
    nnf_check_fill_bytes(c, x, n);
    NNF_BENCH(c, "n=19", 19, fast(19, x, y, power));
    NNF_BENCH(c, "n=1001", n, fast(n, x, y, power));
    nnf_check_done(c, "bench");
}

NNF_CHECK(softmax_qu8_rows, check_q8(c, twin, kernel, 0))
NNF_CHECK(softmax_qs8_rows, check_q8(c, twin, kernel, 128))

/* All widths, rows at the edges of blocks, codes far from and close to each other; tables of halves, whose sums may be
 * powers of two, and at last of any powers. */
static void check_narrow_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_softmax_narrow_q8_rows_fn slow = (nnf_softmax_narrow_q8_rows_fn)twin->fn;
    const nnf_softmax_narrow_q8_rows_fn fast = (nnf_softmax_narrow_q8_rows_fn)kernel->fn;
    static const size_t counts[] = {1, 3, 7, 8, 9, 15, 16, 17, 35, 400};
    static const double decays[] = {0, 0.001, 0.05, 0.9, 40, 0.6931471805599453};
    for (size_t n = 3; n <= NNF_SOFTMAX_NARROW; n++) {
        for (size_t form = 0; form < 70; form++) {
            const size_t rows = counts[form % 10], count = rows * n;
            uint8_t *x = nnf_check_alloc(c, count), *expected = nnf_check_alloc(c, count);
            uint8_t *actual = nnf_check_alloc(c, count);
            int32_t *power = nnf_check_alloc(c, 4 * 512);
            nnf_check_fill_bytes(c, power, 4 * 256);
            for (int d = 0; d < 256; d++) {
                if (form < 60)
                    power[d] = (int32_t)fmin(nnf_exp_neg(-d * decays[form / 10]) * 2147483648.0, INT32_MAX);
                else
                    power[d] = d ? power[d] & INT32_MAX : INT32_MAX;
                power[256 + d] = nnf_rdbpot(power[d], 12);
            }
            nnf_check_fill_bytes(c, x, count);
            for (size_t i = 0; form % 2 && i < count; i++)
                x[i] = (uint8_t)(125 + (x[i] & 7));
            slow(rows, n, x, expected, power);
            fast(rows, n, x, actual, power);
            nnf_check_bytes(c, expected, actual, count);
            fast(rows, n, x, x, power);
            nnf_check_bytes(c, expected, x, count);
            nnf_check_done(c, "rows=%zu n=%zu form=%zu", rows, n, form);
        }
    }
    static const size_t widths[] = {3, 4, 5, 6, 7, 8, 9, 12, 16, 19, 24, 32};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const size_t n = widths[i], count = 1024 * n;
        uint8_t *x = nnf_check_alloc(c, count), *y = nnf_check_alloc(c, count);
        int32_t *power = nnf_check_alloc(c, 4 * 512);
        char label[32];
        snprintf(label, sizeof label, "rows=1024 n=%zu", n);
        for (int d = 0; d < 256; d++) {
            power[d] = INT32_MAX >> (d / 8 < 31 ? d / 8 : 31);
            power[256 + d] = nnf_rdbpot(power[d], 12);
        }
        nnf_check_fill_bytes(c, x, count);
        NNF_BENCH(c, label, count, fast(1024, n, x, y, power));
        nnf_check_done(c, "bench");
    }
}

NNF_CHECK(softmax_narrow_qu8_rows, check_narrow_q8(c, twin, kernel))
NNF_CHECK(softmax_narrow_qs8_rows, check_narrow_q8(c, twin, kernel))

static void check_log_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_log_softmax_q8_rows_fn slow = (nnf_log_softmax_q8_rows_fn)twin->fn;
    const nnf_log_softmax_q8_rows_fn fast = (nnf_log_softmax_q8_rows_fn)kernel->fn;
    static const size_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 511, 1001, 4095};
    static const double scales[] = {0.05, 0.9, 0.001, 40};
    int32_t *distance = NULL;
    for (size_t form = 0; form < 64; form++) {
        const size_t n = sizes[form % 16];
        uint8_t *x = nnf_check_alloc(c, n), *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        distance = nnf_check_alloc(c, 4 * 512);
        for (int d = 0; d < 256; d++) {
            distance[256 + d] = (int32_t)(nnf_exp_neg(-d * scales[form / 16]) * (1 << 19) + 0.5);
            distance[d] = (int32_t)fmin(d * scales[form / 16] * (1 << 26), 1 << 30);
        }
        nnf_check_fill_bytes(c, x, n);
        slow(n, x, expected, distance);
        fast(n, x, actual, distance);
        nnf_check_bytes(c, expected, actual, n);
        fast(n, x, x, distance);
        nnf_check_bytes(c, expected, x, n);
        nnf_check_done(c, "n=%zu form=%zu", n, form);
    }
    const size_t n = 1001;
    uint8_t *x = nnf_check_alloc(c, n), *y = nnf_check_alloc(c, n);
    distance = nnf_check_alloc(c, 4 * 512);
    for (int d = 0; d < 256; d++) {
        distance[d] = d << 22;
        distance[256 + d] = d / 8 < 20 ? 1 << 19 >> d / 8 : 0;
    }
    nnf_check_fill_bytes(c, x, n);
    NNF_BENCH(c, "n=29", 29, fast(29, x, y, distance));
    NNF_BENCH(c, "n=1001", n, fast(n, x, y, distance));
    nnf_check_done(c, "bench");
}

NNF_CHECK(log_softmax_qu8_rows, check_log_q8(c, twin, kernel))
NNF_CHECK(log_softmax_qs8_rows, check_log_q8(c, twin, kernel))

static void check_q8_words(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_softmax_q8_qs16_rows_fn slow = (nnf_softmax_q8_qs16_rows_fn)twin->fn;
    const nnf_softmax_q8_qs16_rows_fn fast = (nnf_softmax_q8_qs16_rows_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        const size_t n = sizes[s];
        uint8_t *x = nnf_check_alloc(c, n);
        int32_t *power = nnf_check_alloc(c, 4 * 512);
        int16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
        for (int d = 0; d < 256; d++) {
            power[d] = INT32_MAX >> (d / 8 < 31 ? d / 8 : 31);
            power[256 + d] = nnf_rdbpot(power[d], 12);
        }
        nnf_check_fill_bytes(c, x, n);
        slow(n, x, expected, power);
        fast(n, x, actual, power);
        nnf_check_bytes(c, expected, actual, 2 * n);
        nnf_check_done(c, "n=%zu", n);
    }
}

NNF_CHECK(softmax_qu8_qs16_rows, check_q8_words(c, twin, kernel))
NNF_CHECK(softmax_qs8_qs16_rows, check_q8_words(c, twin, kernel))

void nnf_check_softmax_qs16_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_softmax_qs16_rows_fn slow = (nnf_softmax_qs16_rows_fn)twin->fn, fast = (nnf_softmax_qs16_rows_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        const size_t n = sizes[s];
        int16_t *x = nnf_check_alloc(c, 2 * n), *tables = nnf_check_alloc(c, 2 * 2 * 513);
        int16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
        nnf_softmax_q16 p = {.power = tables, .reciprocal = tables + 513};
        for (size_t i = 0; i < 513; i++) {
            tables[i] = (int16_t)(i * 63);
            tables[513 + i] = (int16_t)(32767 - i * 31);
        }
        nnf_check_multiplier(c, &p.multiplier, &p.exponent, -8, 4);
        nnf_check_fill_bytes(c, x, 2 * n);
        slow(n, x, expected, &p);
        fast(n, x, actual, &p);
        nnf_check_bytes(c, expected, actual, 2 * n);
        nnf_check_done(c, "n=%zu", n);
    }
}
