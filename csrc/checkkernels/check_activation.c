#include "check.h"
#include "checks.h"

#include <math.h>

#include "activation/activation.h"

static const float nasty[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 88.8f, -87.5f, -95.0f, -103.9f,
                              -120.0f, 0.625f, -0.62499f, 3e38f, -3e38f, 1e-5f, 0.5f, -0.5f, 2.5f,
                              -1.5f, 8388609.0f, -13.5f, -14.2f, -4.9f, 8191.5f, -8193.0f, 3.14159274f, -1.57079637f,
                              1e-38f, 1.2e-38f, 0.99999994f, 1.00000012f, 0.66666669f, 1.33333325f, 355.0f};

/* By what a result may be off: ulps, or as a sum (nnf_check_f32) of terms as large as the result, or as the argument. */
enum bound { BY_ULPS, BY_RESULT, BY_ARGUMENT };

static void check_unary_within(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, enum bound bound,
                               size_t terms)
{
    const nnf_unary_f32_flat_fn slow = (nnf_unary_f32_flat_fn)twin->fn, fast = (nnf_unary_f32_flat_fn)kernel->fn;
    const float spread[] = {0.1f, 1.0f, 10.0f, 110.0f};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 64; form++) {
            const size_t n = sizes[s];
            float *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n), *scale = bound ? nnf_check_alloc(c, 4 * n) : NULL;
            nnf_check_fill_f32(c, x, n, -spread[form % 4], spread[form % 4]);
            for (size_t i = 0; i < n; i++) /* between these, levels begin with a logistic of 0 */
                x[i] = x[i] > -87.34f && x[i] < -87.33f ? -87.33f : x[i];
            if (form & 4)
                x[nnf_check_below(c, n)] = nasty[nnf_check_below(c, sizeof nasty / sizeof nasty[0])];
            slow(n, x, expected);
            for (size_t i = 0; scale && i < n; i++)
                scale[i] = fabsf(bound == BY_RESULT ? expected[i] : x[i]);
            fast(n, x, actual);
            nnf_check_f32(c, expected, actual, n, scale, terms);
            fast(n, x, x);
            nnf_check_f32(c, expected, x, n, scale, terms);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    float *x = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, x, y));
    nnf_check_done(c, "bench");
}

static void check_unary(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_unary_within(c, twin, kernel, BY_ULPS, 0);
}

NNF_CHECK(logistic_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(tanh_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(hard_swish_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(abs_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(neg_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(floor_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(sqrt_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(rsqrt_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(exp_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(log_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(sin_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(cos_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(ceil_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(round_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(sign_f32_flat, check_unary(c, twin, kernel))
NNF_CHECK(gelu_f32_flat, check_unary_within(c, twin, kernel, BY_ARGUMENT, 0))
NNF_CHECK(gelu_tanh_f32_flat, check_unary_within(c, twin, kernel, BY_ARGUMENT, 0))

/* A subnormal of the logistic is off by one, and x times that: as much as FLT_MIN allows. */
NNF_CHECK(silu_f32_flat, check_unary_within(c, twin, kernel, BY_RESULT, 8))

void nnf_check_clamp_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_clamp_f32_flat_fn slow = (nnf_clamp_f32_flat_fn)twin->fn, fast = (nnf_clamp_f32_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        const size_t n = sizes[s];
        float *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
        float *actual = nnf_check_alloc(c, 4 * n);
        nnf_check_fill_f32(c, x, n, -9, 9);
        x[nnf_check_below(c, n)] = nasty[nnf_check_below(c, sizeof nasty / sizeof nasty[0])];
        slow(n, x, expected, 0, 6);
        fast(n, x, actual, 0, 6);
        nnf_check_f32(c, expected, actual, n, NULL, 0);
        fast(n, x, x, 0, 6);
        nnf_check_f32(c, expected, x, n, NULL, 0);
        nnf_check_done(c, "n=%zu", n);
    }
    const size_t n = 1024;
    float *x = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, x, y, 0, 6));
    nnf_check_done(c, "bench");
}

void nnf_check_elu_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_elu_f32_flat_fn slow = (nnf_elu_f32_flat_fn)twin->fn, fast = (nnf_elu_f32_flat_fn)kernel->fn;
    static const float alphas[] = {1.0f, 0.3f, 0.0f, 1e30f, 1e-3f, 1e-40f, 2.5f, 1.7f};
    const float spread[] = {1e-3f, 1.0f, 10.0f, 800.0f};
    size_t sizes[9];
    nnf_check_sizes(8, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 64; form++) {
            const size_t n = sizes[s];
            const float alpha = alphas[form / 8];
            float *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, x, n, -spread[form % 4], spread[form % 4]);
            if (form & 4)
                x[nnf_check_below(c, n)] = nasty[nnf_check_below(c, sizeof nasty / sizeof nasty[0])];
            slow(n, x, expected, alpha);
            fast(n, x, actual, alpha);
            nnf_check_f32(c, expected, actual, n, NULL, 0);
            fast(n, x, x, alpha);
            nnf_check_f32(c, expected, x, n, NULL, 0);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    float *x = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, x, y, 1.0f));
    nnf_check_done(c, "bench");
}

void nnf_check_lookup_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lookup_qu8_flat_fn slow = (nnf_lookup_qu8_flat_fn)twin->fn, fast = (nnf_lookup_qu8_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    uint8_t *table = NULL;
    for (size_t s = 0; sizes[s]; s++) {
        for (int round = 0; round < 4; round++) {
            const size_t n = sizes[s];
            uint8_t *x = nnf_check_alloc(c, n), *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            table = nnf_check_alloc(c, 256);
            nnf_check_fill_bytes(c, x, n);
            for (size_t i = 0; i < 256; i++)
                table[i] = (uint8_t)nnf_check_u32(c);
            slow(n, x, expected, table);
            fast(n, x, actual, table);
            nnf_check_bytes(c, expected, actual, n);
            fast(n, x, x, table);
            nnf_check_bytes(c, expected, x, n);
            nnf_check_done(c, "n=%zu", n);
        }
    }
    const size_t n = 1024;
    uint8_t *x = nnf_check_alloc(c, n), *y = nnf_check_alloc(c, n);
    table = nnf_check_alloc(c, 256);
    NNF_BENCH(c, "n=1024", n, fast(n, x, y, table));
    nnf_check_done(c, "bench");
}

static void fill_line(nnf_check *c, nnf_line *line)
{
    *line = (nnf_line){.is_bent = (int)nnf_check_below(c, 2), .shift = (int)nnf_check_below(c, 9),
                       .offset = (uint16_t)nnf_check_u32(c), .flip = (uint8_t)nnf_check_u32(c),
                       .part = (uint8_t)nnf_check_u32(c), .base = (uint8_t)nnf_check_u32(c)};
    line->least = (uint8_t)nnf_check_below(c, 256);
    line->most = (uint8_t)(line->least + nnf_check_below(c, 256U - line->least));
    for (int p = 0; p < 2; p++) {
        line->slope[p] = (uint16_t)nnf_check_u32(c);
        line->limit[p] = (uint16_t)nnf_check_u32(c);
    }
}

void nnf_check_line_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_line_qu8_flat_fn slow = (nnf_line_qu8_flat_fn)twin->fn, fast = (nnf_line_qu8_flat_fn)kernel->fn;
    nnf_line line;
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (int round = 0; round < 32; round++) {
            const size_t n = sizes[s];
            uint8_t *x = nnf_check_alloc(c, n), *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            nnf_check_fill_bytes(c, x, n);
            fill_line(c, &line);
            slow(n, x, expected, &line);
            fast(n, x, actual, &line);
            nnf_check_bytes(c, expected, actual, n);
            fast(n, x, x, &line);
            nnf_check_bytes(c, expected, x, n);
            nnf_check_done(c, "n=%zu bent=%d shift=%d", n, line.is_bent, line.shift);
        }
    }
    const size_t n = 1024;
    uint8_t *x = nnf_check_alloc(c, n), *y = nnf_check_alloc(c, n);
    line.is_bent = 0;
    NNF_BENCH(c, "straight n=1024", n, fast(n, x, y, &line));
    line.is_bent = 1;
    NNF_BENCH(c, "bent n=1024", n, fast(n, x, y, &line));
    nnf_check_done(c, "bench");
}
