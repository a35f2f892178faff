#include "check.h"
#include "checks.h"

#include <math.h>

#include "normalization/normalization.h"

void nnf_check_l2_norm_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_l2_norm_f32_rows_fn slow = (nnf_l2_norm_f32_rows_fn)twin->fn, fast = (nnf_l2_norm_f32_rows_fn)kernel->fn;
    static const float spread[] = {1.0f, 1e-8f, 1e30f, 1e-30f, 0.0f};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 10; form++) {
            const size_t n = sizes[s];
            float *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, x, n, -spread[form % 5], spread[form % 5]);
            if (form >= 8)
                x[nnf_check_below(c, n)] = form == 8 ? NAN : INFINITY;
            slow(n, x, expected);
            fast(n, x, actual);
            nnf_check_f32(c, expected, actual, n, NULL, 0);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    float *x = nnf_check_alloc(c, 4 * 1024), *y = nnf_check_alloc(c, 4 * 1024);
    nnf_check_fill_f32(c, x, 1024, -1, 1);
    NNF_BENCH(c, "n=1024", 1024, fast(1024, x, y));
    nnf_check_done(c, "bench");
}

static void check_codes(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int32_t low)
{
    const nnf_l2_norm_q8_rows_fn slow = (nnf_l2_norm_q8_rows_fn)twin->fn, fast = (nnf_l2_norm_q8_rows_fn)kernel->fn;
    static const size_t sizes[] = {1, 2, 31, 255, 256, 257, 1001, 100000};
    for (size_t form = 0; form < 32; form++) {
        const size_t n = sizes[form % 8];
        uint8_t *x = nnf_check_alloc(c, n), *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        const int32_t zero = low + (int32_t)nnf_check_below(c, 256);
        nnf_check_fill_bytes(c, x, n);
        slow(n, x, expected, zero, form >= 16);
        fast(n, x, actual, zero, form >= 16);
        nnf_check_bytes(c, expected, actual, n);
        nnf_check_done(c, "n=%zu form=%zu", n, form);
    }
}

NNF_CHECK(l2_norm_qu8_rows, check_codes(c, twin, kernel, 0))
NNF_CHECK(l2_norm_qs8_rows, check_codes(c, twin, kernel, -128))

void nnf_check_lrn_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lrn_f32_rows_fn slow = (nnf_lrn_f32_rows_fn)twin->fn, fast = (nnf_lrn_f32_rows_fn)kernel->fn;
    static const double betas[] = {0.5, 0.75, 1.0, 0.6};
    size_t sizes[9];
    nnf_check_sizes(8, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 24; form++) {
            const size_t n = sizes[s];
            nnf_lrn p = {.radius = form % 5 == 4 ? n - 1 : form % 5, .bias = 1.5, .alpha = 0.25 + (double)form,
                         .beta = betas[form % 4]};
            p.radius = p.radius < n ? p.radius : n - 1;
            float *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n);
            double *sums = nnf_check_alloc(c, 16 * (n + p.radius));
            nnf_check_fill_f32(c, x, n, -4, 4);
            if (form >= 20) { /* no power of a negative number, the inverse of zero, and what is none to begin with */
                p.bias = form == 20 ? -100 : form == 21 ? -0.0 : 0;
                p.alpha = form < 22 ? 0 : 1;
                x[nnf_check_below(c, n)] = form == 22 ? NAN : 1e30f;
            }
            slow(&p, n, x, expected, sums);
            fast(&p, n, x, actual, sums);
            nnf_check_f32(c, expected, actual, n, NULL, 0);
            nnf_check_done(c, "n=%zu form=%zu radius=%zu", n, form, p.radius);
        }
    }
    const nnf_lrn p = {.radius = 5, .bias = 1, .alpha = 1e-4, .beta = 0.75};
    float *x = nnf_check_alloc(c, 4 * 192), *y = nnf_check_alloc(c, 4 * 192);
    double *sums = nnf_check_alloc(c, 16 * 197);
    nnf_check_fill_f32(c, x, 192, -1, 1);
    NNF_BENCH(c, "n=192 radius 5", 192, fast(&p, 192, x, y, sums));
    nnf_check_done(c, "bench");
}

static void check_instance(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, bool nchw)
{
    const nnf_instance_norm_f32_fn slow = (nnf_instance_norm_f32_fn)twin->fn;
    const nnf_instance_norm_f32_fn fast = (nnf_instance_norm_f32_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 12; form++) {
            const size_t n = nchw ? 1 : sizes[s];
            nnf_instance_norm p = {.pixels = nchw ? sizes[s] : 1 + form * 3, .gamma = 1.5, .beta = -0.5,
                                   .epsilon = 1e-3};
            p.stride = nchw ? 1 : n + form % 3;
            const size_t elements = (p.pixels - 1) * p.stride + n;
            float *x = nnf_check_alloc(c, 4 * elements), *expected = nnf_check_alloc(c, 4 * elements);
            float *actual = nnf_check_alloc(c, 4 * elements), *scale = nnf_check_alloc(c, 4 * elements);
            nnf_check_fill_f32(c, x, elements, form & 1 ? 99 : -2, form & 1 ? 101 : 2);
            if (form == 11)
                x[nnf_check_below(c, elements)] = NAN;
            for (size_t i = 0; i < elements; i++)
                scale[i] = 8.0f;
            slow(&p, n, x, expected);
            fast(&p, n, x, actual);
            for (size_t i = 0; i < elements; i++) {
                if (i % p.stride < n)
                    nnf_check_f32(c, expected + i, actual + i, 1, scale + i, 1);
            }
            nnf_check_done(c, "pixels=%zu n=%zu form=%zu", p.pixels, n, form);
        }
    }
    const nnf_instance_norm p = {.pixels = 4096, .stride = nchw ? 1 : 32, .gamma = 1, .epsilon = 1e-3};
    float *x = nnf_check_alloc(c, 4 * 4096 * p.stride), *y = nnf_check_alloc(c, 4 * 4096 * p.stride);
    nnf_check_fill_f32(c, x, 4096 * p.stride, -1, 1);
    NNF_BENCH(c, "64x64", 4096 * p.stride, fast(&p, p.stride, x, y));
    nnf_check_done(c, "bench");
}

NNF_CHECK(instance_norm_f32_nhwc, check_instance(c, twin, kernel, false))
NNF_CHECK(instance_norm_f32_nchw, check_instance(c, twin, kernel, true))

void nnf_check_layer_norm_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_layer_norm_f32_rows_fn slow = (nnf_layer_norm_f32_rows_fn)twin->fn;
    const nnf_layer_norm_f32_rows_fn fast = (nnf_layer_norm_f32_rows_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 20; form++) {
            const size_t n = sizes[s], rows = 1 + form % 3, count = rows * n;
            nnf_layer_norm p = {.epsilon = 1e-3f, .is_folded = form < 4, .has_gamma = 1, .has_beta = 1};
            if (!p.is_folded) {
                p.divides = form & 1;
                p.has_gamma = form >> 1 & 1;
                p.has_beta = form >> 2 & 1;
            }
            float *x = nnf_check_alloc(c, 4 * count), *scale = nnf_check_alloc(c, 4 * count);
            float *gamma = p.has_gamma ? nnf_check_alloc(c, 4 * n) : NULL;
            float *beta = p.has_beta ? nnf_check_alloc(c, 4 * n) : NULL;
            float *expected = nnf_check_alloc(c, 4 * count), *actual = nnf_check_alloc(c, 4 * count);
            nnf_check_fill_f32(c, x, count, form % 5 ? -2 : 9, form % 5 ? 2 : 11);
            if (gamma)
                nnf_check_fill_f32(c, gamma, n, 0.5f, 1.5f);
            if (beta)
                nnf_check_fill_f32(c, beta, n, -1, 1);
            if (form == 19)
                x[nnf_check_below(c, count)] = NAN;
            nnf_check_fill_f32(c, scale, count, 40, 40);
            slow(&p, rows, n, x, gamma, beta, expected);
            fast(&p, rows, n, x, gamma, beta, actual);
            nnf_check_f32(c, expected, actual, count, scale, 1);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 768;
    const nnf_layer_norm p = {.epsilon = 1e-5f, .has_gamma = 1, .has_beta = 1};
    float *x = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    float *gamma = nnf_check_alloc(c, 4 * n), *beta = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, n, -1, 1);
    nnf_check_fill_f32(c, gamma, n, -1, 1);
    nnf_check_fill_f32(c, beta, n, -1, 1);
    NNF_BENCH(c, "1x768", n, fast(&p, 1, n, x, gamma, beta, y));
    nnf_check_done(c, "bench");
}
