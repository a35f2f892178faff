#include "topk.h"

#include <immintrin.h>

#include "topk_heap.h"

void nnf_topk_f32_rows__avx2_8(size_t n, size_t k, const float *x, float *values, int32_t *indices, uint64_t *heap)
{
    for (size_t i = 0; i < k; i++)
        heap[i] = nnf_topk_key_f32(x[i], i);
    nnf_topk_start(heap, k);
    size_t i = k;
    for (; i + 8 <= n; i += 8) {
        /* What is below the worst of the best cannot enter; anything may while that is a NaN. */
        const __m256 worst = _mm256_set1_ps(x[(uint32_t)heap[0]]);
        if (_mm256_movemask_ps(_mm256_cmp_ps(worst, _mm256_loadu_ps(x + i), _CMP_NGT_UQ))) {
            for (size_t j = i; j < i + 8; j++)
                nnf_topk_offer(heap, k, nnf_topk_key_f32(x[j], j));
        }
    }
    for (; i < n; i++)
        nnf_topk_offer(heap, k, nnf_topk_key_f32(x[i], i));
    nnf_topk_finish(heap, k, indices);
    for (i = 0; i < k; i++)
        values[i] = x[indices[i]];
}
