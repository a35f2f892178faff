/* A heap of the k best keys, the worst on top. A key has the order of the values in its high word and the index in its
 * low one, so that no two are equal and the larger index wins. Header-only. */
#ifndef NNF_TOPK_HEAP_H
#define NNF_TOPK_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Key of a float: NaNs below all others, the two zeros alike. */
static inline uint64_t nnf_topk_key_f32(float value, size_t index)
{
    uint32_t bits;
    value = value == 0 ? 0.0f : value;
    memcpy(&bits, &value, 4);
    bits ^= bits >> 31 ? 0xFFFFFFFFu : 0x80000000u;
    return (uint64_t)(value != value ? 0 : bits) << 32 | index;
}

static inline void nnf_topk_sink(uint64_t *heap, size_t at, size_t size)
{
    const uint64_t key = heap[at];
    for (size_t child; (child = 2 * at + 1) < size; at = child) {
        child += child + 1 < size && heap[child + 1] < heap[child];
        if (key <= heap[child])
            break;
        heap[at] = heap[child];
    }
    heap[at] = key;
}

/* Orders k keys as a heap. */
static inline void nnf_topk_start(uint64_t *heap, size_t k)
{
    for (size_t i = k / 2; i-- > 0;)
        nnf_topk_sink(heap, i, k);
}

static inline void nnf_topk_offer(uint64_t *heap, size_t k, uint64_t key)
{
    if (key > heap[0]) {
        heap[0] = key;
        nnf_topk_sink(heap, 0, k);
    }
}

/* Orders the keys of a heap from best to worst, and gives their indices. */
static inline void nnf_topk_finish(uint64_t *heap, size_t k, int32_t *indices)
{
    for (size_t last = k - 1; last > 0; last--) {
        const uint64_t worst = heap[0];
        heap[0] = heap[last];
        heap[last] = worst;
        nnf_topk_sink(heap, 0, last);
    }
    for (size_t i = 0; i < k; i++)
        indices[i] = (int32_t)(uint32_t)heap[i];
}

#endif
