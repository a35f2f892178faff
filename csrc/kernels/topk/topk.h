/* The k largest values of a row and where they stand, in falling order; of equal values the one with the larger index
 * comes first, NaNs come after all numbers [NN 15.90].
 *
 * 1 <= k <= n, any alignment; values and indices get k elements; heap is memory for k words. */
#ifndef NNF_TOPK_H
#define NNF_TOPK_H

#include <stddef.h>
#include <stdint.h>

typedef void (*nnf_topk_f32_rows_fn)(size_t n, size_t k, const float *x, float *values, int32_t *indices,
                                     uint64_t *heap);
typedef void (*nnf_topk_s32_rows_fn)(size_t n, size_t k, const int32_t *x, int32_t *values, int32_t *indices,
                                     uint64_t *heap);
/* flip: 128 for signed codes, else 0. */
typedef void (*nnf_topk_qu8_rows_fn)(size_t n, size_t k, const uint8_t *x, uint8_t *values, int32_t *indices,
                                     uint64_t *heap, uint8_t flip);

#endif
