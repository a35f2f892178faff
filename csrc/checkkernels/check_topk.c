#include "check.h"
#include "checks.h"

#include <math.h>

#include "topk/topk.h"

static const size_t counts[] = {1, 2, 5, 16, 17};

void nnf_check_topk_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_topk_f32_rows_fn slow = (nnf_topk_f32_rows_fn)twin->fn, fast = (nnf_topk_f32_rows_fn)kernel->fn;
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-40f};
    size_t sizes[9];
    nnf_check_sizes(32, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 15; form++) {
            const size_t n = sizes[s], k = counts[form % 5] < n ? counts[form % 5] : n;
            float *x = nnf_check_alloc(c, 4 * n), *values = nnf_check_alloc(c, 4 * k);
            float *expected = nnf_check_alloc(c, 4 * k);
            int32_t *places = nnf_check_alloc(c, 4 * k), *indices = nnf_check_alloc(c, 4 * k);
            uint64_t *heap = nnf_check_alloc(c, 8 * k);
            for (size_t i = 0; i < n; i++)
                x[i] = form < 5 || nnf_check_below(c, 3) ? (float)nnf_check_below(c, 20) : odd[nnf_check_below(c, 6)];
            for (size_t i = 0; form > 12 && i < n; i++)
                x[i] = i < n / 2 ? NAN : x[i];
            slow(n, k, x, expected, places, heap);
            fast(n, k, x, values, indices, heap);
            nnf_check_s32(c, places, indices, k);
            nnf_check_bytes(c, expected, values, 4 * k);
            nnf_check_done(c, "n=%zu k=%zu form=%zu", n, k, form);
        }
    }
    float *x = nnf_check_alloc(c, 4000), values[10];
    int32_t indices[10];
    uint64_t heap[10];
    nnf_check_fill_f32(c, x, 1000, 0, 1);
    NNF_BENCH(c, "10 of 1000", 1000, fast(1000, 10, x, values, indices, heap));
    nnf_check_done(c, "bench");
}

void nnf_check_topk_s32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_topk_s32_rows_fn slow = (nnf_topk_s32_rows_fn)twin->fn, fast = (nnf_topk_s32_rows_fn)kernel->fn;
    for (size_t form = 0; form < 40; form++) {
        const size_t n = 1 + form * 3, k = counts[form % 5] < n ? counts[form % 5] : n;
        int32_t *x = nnf_check_alloc(c, 4 * n), *expected = nnf_check_alloc(c, 4 * k);
        int32_t *values = nnf_check_alloc(c, 4 * k);
        int32_t *places = nnf_check_alloc(c, 4 * k), *indices = nnf_check_alloc(c, 4 * k);
        uint64_t *heap = nnf_check_alloc(c, 8 * k);
        for (size_t i = 0; i < n; i++)
            x[i] = nnf_check_below(c, 4) ? (int32_t)nnf_check_below(c, 9) - 4 : (int32_t)nnf_check_u32(c);
        slow(n, k, x, expected, places, heap);
        fast(n, k, x, values, indices, heap);
        nnf_check_s32(c, places, indices, k);
        nnf_check_s32(c, expected, values, k);
        nnf_check_done(c, "n=%zu k=%zu", n, k);
    }
    int32_t *x = nnf_check_alloc(c, 4000), values[10], indices[10];
    uint64_t heap[10];
    nnf_check_fill_bytes(c, (uint8_t *)x, 4000);
    NNF_BENCH(c, "10 of 1000", 1000, fast(1000, 10, x, values, indices, heap));
    nnf_check_done(c, "bench");
}

void nnf_check_topk_qu8_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_topk_qu8_rows_fn slow = (nnf_topk_qu8_rows_fn)twin->fn, fast = (nnf_topk_qu8_rows_fn)kernel->fn;
    for (size_t form = 0; form < 40; form++) {
        const size_t n = 1 + form * 3, k = counts[form % 5] < n ? counts[form % 5] : n;
        uint8_t *x = nnf_check_alloc(c, n), *expected = nnf_check_alloc(c, k), *values = nnf_check_alloc(c, k);
        int32_t *places = nnf_check_alloc(c, 4 * k), *indices = nnf_check_alloc(c, 4 * k);
        uint64_t *heap = nnf_check_alloc(c, 8 * k);
        nnf_check_fill_bytes(c, x, n);
        for (size_t i = 0; form % 3 == 2 && i < n; i++)
            x[i] = (uint8_t)(126 + x[i] % 4);
        slow(n, k, x, expected, places, heap, form & 1 ? 128 : 0);
        fast(n, k, x, values, indices, heap, form & 1 ? 128 : 0);
        nnf_check_s32(c, places, indices, k);
        nnf_check_bytes(c, expected, values, k);
        nnf_check_done(c, "n=%zu k=%zu", n, k);
    }
    uint8_t *x = nnf_check_alloc(c, 10000), values[10];
    int32_t indices[10];
    uint64_t heap[10];
    nnf_check_fill_bytes(c, x, 10000);
    NNF_BENCH(c, "10 of 10000", 10000, fast(10000, 10, x, values, indices, heap, 128));
    nnf_check_done(c, "bench");
}
