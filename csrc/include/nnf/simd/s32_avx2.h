/* Names that all levels share: 8 integers of 32 bits, which wrap; include only from AVX2 files. */
#ifndef NNF_SIMD_S32_AVX2_H
#define NNF_SIMD_S32_AVX2_H

#include "nnf/simd/f32_avx2.h"

typedef __m256i S;

static inline S s32_all(int32_t value)
{
    return _mm256_set1_epi32(value);
}

static inline S s32_load_whole(const int32_t *x)
{
    return _mm256_loadu_si256((const __m256i *)x);
}

static inline void s32_store_whole(int32_t *y, S value)
{
    _mm256_storeu_si256((__m256i *)y, value);
}

static inline S s32_load(M live, const int32_t *x)
{
    return _mm256_maskload_epi32(x, live.lanes);
}

static inline void s32_store(int32_t *y, M live, S value)
{
    _mm256_maskstore_epi32(y, live.lanes, value);
}

static inline S s32_add(S a, S b)
{
    return _mm256_add_epi32(a, b);
}

static inline S s32_sub(S a, S b)
{
    return _mm256_sub_epi32(a, b);
}

static inline S s32_mul(S a, S b)
{
    return _mm256_mullo_epi32(a, b);
}

static inline S s32_max(S a, S b)
{
    return _mm256_max_epi32(a, b);
}

static inline S s32_min(S a, S b)
{
    return _mm256_min_epi32(a, b);
}

#endif
