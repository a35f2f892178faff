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

static inline uint64_t nnf_topk_key_s32(int32_t value, size_t index)
{
    return (uint64_t)((uint32_t)value ^ 0x80000000u) << 32 | index;
}

static inline uint64_t nnf_topk_key_qu8(uint8_t code, size_t index)
{
    return (uint64_t)code << 32 | index;
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

/* A row from the last element on, `each` at a time: of equal values the last is kept, so that only those enter that exceed
 * the worst of the best, or where one is a NaN. key: that of element j; above: of elements i to i + each, a bit each of
 * those that may enter. */
#define NNF_TOPK(key, each, above)                                                                                     \
    do {                                                                                                               \
        size_t i = n - k;                                                                                              \
        for (size_t j = i; j < n; j++)                                                                                 \
            heap[j - i] = key;                                                                                         \
        nnf_topk_start(heap, k);                                                                                       \
        while (i >= each) {                                                                                            \
            i -= each;                                                                                                 \
            unsigned may = above;                                                                                      \
            while (may) {                                                                                              \
                const unsigned last = 31 - (unsigned)__builtin_clz(may);                                               \
                const size_t j = i + last;                                                                             \
                nnf_topk_offer(heap, k, key);                                                                          \
                may ^= 1u << last;                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t j = i; j-- > 0;)                                                                                   \
            nnf_topk_offer(heap, k, key);                                                                              \
        nnf_topk_finish(heap, k, indices);                                                                             \
        for (i = 0; i < k; i++)                                                                                        \
            values[i] = x[indices[i]];                                                                                 \
    } while (0)

#endif
