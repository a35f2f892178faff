#include "topk.h"

#include "topk_heap.h"

/* The last k keys make a heap, the others are offered to it, from the last on: of equal values none enters any more.
 * `key` is that of element i. */
#define TOPK(key)                                                                                                      \
    do {                                                                                                               \
        for (size_t i = n - k; i < n; i++)                                                                             \
            heap[i - (n - k)] = key;                                                                                   \
        nnf_topk_start(heap, k);                                                                                       \
        for (size_t i = n - k; i-- > 0;)                                                                               \
            nnf_topk_offer(heap, k, key);                                                                              \
        nnf_topk_finish(heap, k, indices);                                                                             \
        for (size_t i = 0; i < k; i++)                                                                                 \
            values[i] = x[indices[i]];                                                                                 \
    } while (0)

void nnf_topk_f32_rows__scalar(size_t n, size_t k, const float *x, float *values, int32_t *indices, uint64_t *heap)
{
    TOPK(nnf_topk_key_f32(x[i], i));
}

void nnf_topk_s32_rows__scalar(size_t n, size_t k, const int32_t *x, int32_t *values, int32_t *indices, uint64_t *heap)
{
    TOPK(nnf_topk_key_s32(x[i], i));
}

void nnf_topk_qu8_rows__scalar(size_t n, size_t k, const uint8_t *x, uint8_t *values, int32_t *indices, uint64_t *heap,
                               uint8_t flip)
{
    TOPK(nnf_topk_key_qu8(x[i] ^ flip, i));
}
