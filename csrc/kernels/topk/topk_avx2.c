#include "topk.h"

#include <immintrin.h>

#include "topk_heap.h"

static inline unsigned above_f32(const float *x, float worst)
{
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_set1_ps(worst), _CMP_NLE_UQ));
}

void nnf_topk_f32_rows__avx2_8(size_t n, size_t k, const float *x, float *values, int32_t *indices, uint64_t *heap)
{
    NNF_TOPK(nnf_topk_key_f32(x[j], j), 8, above_f32(x + i, x[(uint32_t)heap[0]]));
}

static inline unsigned above_s32(const int32_t *x, int32_t worst)
{
    const __m256i value = _mm256_loadu_si256((const __m256i *)x);
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(value, _mm256_set1_epi32(worst))));
}

void nnf_topk_s32_rows__avx2_8(size_t n, size_t k, const int32_t *x, int32_t *values, int32_t *indices, uint64_t *heap)
{
    NNF_TOPK(nnf_topk_key_s32(x[j], j), 8, above_s32(x + i, x[(uint32_t)heap[0]]));
}

/* Bytes are compared as signed ones: turn, the bits in which a code differs from such a byte. */
static inline unsigned above_qu8(const uint8_t *x, uint8_t worst, uint8_t turn)
{
    const __m256i value = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)x), _mm256_set1_epi8((char)turn));
    return (unsigned)_mm256_movemask_epi8(_mm256_cmpgt_epi8(value, _mm256_set1_epi8((char)(worst ^ turn))));
}

void nnf_topk_qu8_rows__avx2_32(size_t n, size_t k, const uint8_t *x, uint8_t *values, int32_t *indices, uint64_t *heap,
                                uint8_t flip)
{
    NNF_TOPK(nnf_topk_key_qu8(x[j] ^ flip, j), 32, above_qu8(x + i, x[(uint32_t)heap[0]], flip ^ 128));
}
