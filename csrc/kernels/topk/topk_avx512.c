#include "topk.h"

#include <immintrin.h>

#include "topk_heap.h"

static inline unsigned above_f32(const float *x, float worst)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(x), _mm512_set1_ps(worst), _CMP_NLE_UQ);
}

void nnf_topk_f32_rows__avx512_16(size_t n, size_t k, const float *x, float *values, int32_t *indices, uint64_t *heap)
{
    NNF_TOPK(nnf_topk_key_f32(x[j], j), 16, above_f32(x + i, x[(uint32_t)heap[0]]));
}
