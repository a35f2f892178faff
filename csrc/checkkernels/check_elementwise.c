#include "check.h"
#include "checks.h"

#include <math.h>

#include "elementwise/elementwise.h"

void nnf_check_add_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_add_f32_flat_fn slow = (nnf_add_f32_flat_fn)twin->fn, fast = (nnf_add_f32_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (int clamp = 0; clamp < 2; clamp++) {
            const size_t n = sizes[s];
            const float lo = clamp ? 0.0f : -INFINITY, hi = clamp ? 6.0f : INFINITY;
            float *a = nnf_check_alloc(c, 4 * n), *b = nnf_check_alloc(c, 4 * n);
            float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, a, n, -8, 8);
            nnf_check_fill_f32(c, b, n, -8, 8);
            a[nnf_check_below(c, n)] = NAN;
            b[nnf_check_below(c, n)] = INFINITY;
            slow(n, a, b, expected, lo, hi);
            fast(n, a, b, actual, lo, hi);
            nnf_check_f32(c, expected, actual, n, NULL, 0);
            nnf_check_done(c, "n=%zu clamp=%d", n, clamp);
        }
    }
    const size_t n = 1024;
    float *a = nnf_check_alloc(c, 4 * n), *b = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, a, n, -8, 8);
    nnf_check_fill_f32(c, b, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, a, b, y, 0, 6));
    nnf_check_done(c, "bench");
}
