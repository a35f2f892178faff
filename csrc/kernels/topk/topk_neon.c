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

/* From the last element on: of equal values the last is kept, so only what exceeds the worst of the best enters. */
void nnf_topk_qu8_rows__neon_16(size_t n, size_t k, const uint8_t *x, uint8_t *values, int32_t *indices, uint64_t *heap,
                                uint8_t flip)
{
    size_t i = n - k;
    for (size_t j = i; j < n; j++)
        heap[j - i] = nnf_topk_key_qu8(x[j] ^ flip, j);
    nnf_topk_start(heap, k);
    while (i >= 16) {
        i -= 16;
        const uint8x16_t code = veorq_u8(vld1q_u8(x + i), vdupq_n_u8(flip));
        if (vmaxvq_u8(code) > (uint8_t)(heap[0] >> 32)) {
            for (size_t j = i + 16; j-- > i;)
                nnf_topk_offer(heap, k, nnf_topk_key_qu8(x[j] ^ flip, j));
        }
    }
    while (i-- > 0)
        nnf_topk_offer(heap, k, nnf_topk_key_qu8(x[i] ^ flip, i));
    nnf_topk_finish(heap, k, indices);
    for (i = 0; i < k; i++)
        values[i] = x[indices[i]];
}
