#include "topk.h"

#include <arm_neon.h>

#include "topk_heap.h"

void nnf_topk_f32_rows__neon_8(size_t n, size_t k, const float *x, float *values, int32_t *indices, uint64_t *heap)
{
    for (size_t i = 0; i < k; i++)
        heap[i] = nnf_topk_key_f32(x[i], i);
    nnf_topk_start(heap, k);
    size_t i = k;
    for (; i + 8 <= n; i += 8) {
        /* What is below the worst of the best cannot enter; anything may while that is a NaN. */
        const float32x4_t worst = vdupq_n_f32(x[(uint32_t)heap[0]]);
        const uint32x4_t below = vandq_u32(vcgtq_f32(worst, vld1q_f32(x + i)), vcgtq_f32(worst, vld1q_f32(x + i + 4)));
        if (vminvq_u32(below) == 0) {
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
