#include "topk.h"

#include <immintrin.h>

#include "topk_heap.h"

void nnf_topk_f32_rows__avx512_16(size_t n, size_t k, const float *x, float *values, int32_t *indices, uint64_t *heap)
{
    for (size_t i = 0; i < k; i++)
        heap[i] = nnf_topk_key_f32(x[i], i);
    nnf_topk_start(heap, k);
    for (size_t i = k; i < n; i += 16) {
        const __mmask16 live = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xFFFF;
        /* What is below the worst of the best cannot enter; anything may while that is a NaN. */
        const __m512 worst = _mm512_set1_ps(x[(uint32_t)heap[0]]);
        const __m512 value = _mm512_maskz_loadu_ps(live, x + i);
        unsigned may = _mm512_mask_cmp_ps_mask(live, worst, value, _CMP_NGT_UQ);
        for (; may; may &= may - 1) {
            const size_t j = i + (size_t)__builtin_ctz(may);
            nnf_topk_offer(heap, k, nnf_topk_key_f32(x[j], j));
        }
    }
    nnf_topk_finish(heap, k, indices);
    for (size_t i = 0; i < k; i++)
        values[i] = x[indices[i]];
}
