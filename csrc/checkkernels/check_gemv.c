#include "check.h"
#include "checks.h"

#include <math.h>
#include <string.h>

#include "gemv/gemv.h"

/* 64-byte aligned, since a panel's size is a multiple of 64 and the block ends at a page. */
static float *panel_of(nnf_check *c, size_t rows)
{
    float *w = nnf_check_alloc(c, 4 * NNF_GEMV_N * rows);
    nnf_check_fill_f32(c, w, NNF_GEMV_N * rows, -1, 1);
    return w;
}

void nnf_check_gemv_f32_tile(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_gemv_f32_tile_fn slow = (nnf_gemv_f32_tile_fn)twin->fn, fast = (nnf_gemv_f32_tile_fn)kernel->fn;
    static const size_t depths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 120};
    for (size_t n = 1; n <= NNF_GEMV_N; n++) {
        for (size_t form = 0; form < 20; form++) {
            const size_t k0 = depths[form % 10], k1 = depths[(form * 3 + n) % 10];
            float *x0 = nnf_check_alloc(c, 4 * k0), *x1 = nnf_check_alloc(c, 4 * k1);
            float *start = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n), *scale = nnf_check_alloc(c, 4 * n);
            nnf_gemv_f32_panel p = {.packed = panel_of(c, 1 + k0 + k1), .start = form & 1 ? start : NULL, .x0 = x0,
                                    .x1 = x1, .k0 = k0, .k1 = k1, .columns = n, .y = expected,
                                    .lo = form & 2 ? -1.0f : -INFINITY, .hi = form & 2 ? 1.0f : INFINITY};
            nnf_check_fill_f32(c, x0, k0, -2, 2);
            nnf_check_fill_f32(c, x1, k1, -2, 2);
            nnf_check_fill_f32(c, start, n, -2, 2);
            for (size_t j = 0; j < n; j++) {
                scale[j] = fabsf(p.start ? start[j] : p.packed[j]);
                for (size_t k = 0; k < k0 + k1; k++)
                    scale[j] += fabsf((k < k0 ? x0[k] : x1[k - k0]) * p.packed[(k + 1) * NNF_GEMV_N + j]);
            }
            slow(&p);
            p.y = actual;
            fast(&p);
            nnf_check_f32(c, expected, actual, n, scale, k0 + k1 + 1);
            nnf_check_done(c, "columns=%zu k0=%zu k1=%zu form=%zu", n, k0, k1, form);
        }
    }
    const size_t k = 500;
    float *x = nnf_check_alloc(c, 4 * k), *y = nnf_check_alloc(c, 4 * NNF_GEMV_N);
    nnf_check_fill_f32(c, x, k, -2, 2);
    const nnf_gemv_f32_panel p = {.packed = panel_of(c, 1 + k), .x0 = x, .k0 = k, .columns = NNF_GEMV_N, .y = y,
                                  .lo = -INFINITY, .hi = INFINITY};
    NNF_BENCH(c, "k=500 n=32", k * NNF_GEMV_N, fast(&p));
    nnf_check_done(c, "bench");
}

void nnf_check_gemv_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_gemv_f32_rows_fn slow = (nnf_gemv_f32_rows_fn)twin->fn, fast = (nnf_gemv_f32_rows_fn)kernel->fn;
    static const size_t depths[] = {0, 1, 7, 8, 9, 15, 16, 17, 33, 120};
    for (size_t n = 1; n <= 35; n++) {
        for (size_t form = 0; form < 20; form++) {
            const size_t k0 = depths[form % 10], k1 = depths[(form * 3 + n) % 10];
            float *x0 = nnf_check_alloc(c, 4 * k0), *x1 = nnf_check_alloc(c, 4 * k1);
            float *w0 = nnf_check_alloc(c, 4 * n * k0), *w1 = nnf_check_alloc(c, 4 * n * k1);
            float *start = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * n);
            float *actual = nnf_check_alloc(c, 4 * n), *scale = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, x0, k0, -2, 2);
            nnf_check_fill_f32(c, x1, k1, -2, 2);
            nnf_check_fill_f32(c, w0, n * k0, -1, 1);
            nnf_check_fill_f32(c, w1, n * k1, -1, 1);
            nnf_check_fill_f32(c, start, n, -2, 2);
            nnf_gemv_f32_matrix p = {.w0 = w0, .w1 = w1, .start = form & 1 ? start : NULL, .x0 = x0, .x1 = x1, .k0 = k0,
                                     .k1 = k1, .rows = n, .y = expected, .lo = form & 2 ? -1.0f : -INFINITY,
                                     .hi = form & 2 ? 1.0f : INFINITY};
            for (size_t j = 0; j < n; j++) {
                scale[j] = p.start ? fabsf(start[j]) : 0;
                for (size_t k = 0; k < k0; k++)
                    scale[j] += fabsf(x0[k] * w0[j * k0 + k]);
                for (size_t k = 0; k < k1; k++)
                    scale[j] += fabsf(x1[k] * w1[j * k1 + k]);
            }
            slow(&p);
            p.y = actual;
            fast(&p);
            nnf_check_f32(c, expected, actual, n, scale, k0 + k1 + 1);
            nnf_check_done(c, "rows=%zu k0=%zu k1=%zu form=%zu", n, k0, k1, form);
        }
    }
    const size_t k = 500, rows = 32;
    float *x = nnf_check_alloc(c, 4 * k), *y = nnf_check_alloc(c, 4 * rows), *w = nnf_check_alloc(c, 4 * rows * k);
    nnf_check_fill_f32(c, x, k, -2, 2);
    nnf_check_fill_f32(c, w, rows * k, -1, 1);
    const nnf_gemv_f32_matrix p = {.w0 = w, .x0 = x, .k0 = k, .rows = rows, .y = y, .lo = -INFINITY, .hi = INFINITY};
    NNF_BENCH(c, "k=500 n=32", k * rows, fast(&p));
    nnf_check_done(c, "bench");
}

static void check_codes(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_gemv_qs16_q8_rows_fn slow = (nnf_gemv_qs16_q8_rows_fn)twin->fn;
    const nnf_gemv_qs16_q8_rows_fn fast = (nnf_gemv_qs16_q8_rows_fn)kernel->fn;
    static const size_t depths[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 120};
    for (size_t n = 1; n <= 35; n++) {
        for (size_t form = 0; form < 13; form++) {
            const size_t k = depths[form];
            int16_t *x = nnf_check_alloc(c, 2 * k);
            void *w = nnf_check_alloc(c, n * k);
            int32_t *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_bytes(c, w, n * k);
            for (size_t i = 0; i < k; i++)
                x[i] = (int16_t)((int)nnf_check_below(c, 512) - 256);
            for (size_t j = 0; j < n; j++)
                expected[j] = actual[j] = (int32_t)nnf_check_u32(c);
            slow(n, k, x, w, expected);
            fast(n, k, x, w, actual);
            nnf_check_s32(c, expected, actual, n);
            nnf_check_done(c, "rows=%zu k=%zu", n, k);
        }
    }
    const size_t k = 512, rows = 32;
    int16_t *x = nnf_check_alloc(c, 2 * k);
    int32_t *y = nnf_check_alloc(c, 4 * rows);
    memset(y, 0, 4 * rows);
    void *w = nnf_check_alloc(c, rows * k);
    for (size_t i = 0; i < k; i++)
        x[i] = (int16_t)(i % 256);
    nnf_check_fill_bytes(c, w, rows * k);
    NNF_BENCH(c, "k=512 n=32", k * rows, fast(rows, k, x, w, y));
    nnf_check_done(c, "bench");
}

NNF_CHECK(gemv_qs16_qs8_rows, check_codes(c, twin, kernel))
NNF_CHECK(gemv_qs16_qu8_rows, check_codes(c, twin, kernel))
