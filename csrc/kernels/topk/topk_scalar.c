#include "topk.h"

#include "topk_heap.h"

/* The first k keys make a heap, the others are offered to it; `key` is that of element i. */
#define TOPK(key)                                                                                                      \
    do {                                                                                                               \
        for (size_t i = 0; i < k; i++)                                                                                 \
            heap[i] = key;                                                                                             \
        nnf_topk_start(heap, k);                                                                                       \
        for (size_t i = k; i < n; i++)                                                                                 \
            nnf_topk_offer(heap, k, key);                                                                              \
        nnf_topk_finish(heap, k, indices);                                                                             \
        for (size_t i = 0; i < k; i++)                                                                                 \
            values[i] = x[indices[i]];                                                                                 \
    } while (0)

void nnf_topk_f32_rows__scalar(size_t n, size_t k, const float *x, float *values, int32_t *indices, uint64_t *heap)
{
    TOPK(nnf_topk_key_f32(x[i], i));
}

static inline uint64_t key_s32(int32_t value, size_t index)
{
    return (uint64_t)((uint32_t)value ^ 0x80000000u) << 32 | index;
}

void nnf_topk_s32_rows__scalar(size_t n, size_t k, const int32_t *x, int32_t *values, int32_t *indices, uint64_t *heap)
{
    TOPK(key_s32(x[i], i));
}

static inline uint64_t key_qu8(uint8_t code, size_t index)
{
    return (uint64_t)code << 32 | index;
}

void nnf_topk_qu8_rows__scalar(size_t n, size_t k, const uint8_t *x, uint8_t *values, int32_t *indices, uint64_t *heap,
                               uint8_t flip)
{
    TOPK(key_qu8(x[i] ^ flip, i));
}
