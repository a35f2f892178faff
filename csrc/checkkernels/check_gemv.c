#include "check.h"
#include "checks.h"

#include <math.h>

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
