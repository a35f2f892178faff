/* Names that all levels share: 16 integers of 32 bits, which wrap; include only from AVX-512 files. */
#ifndef NNF_SIMD_S32_AVX512_H
#define NNF_SIMD_S32_AVX512_H

#include "nnf/simd/f32_avx512.h"

typedef __m512i S;

static inline S s32_all(int32_t value)
{
    return _mm512_set1_epi32(value);
}

static inline S s32_load_whole(const int32_t *x)
{
    return _mm512_loadu_si512(x);
}

static inline void s32_store_whole(int32_t *y, S value)
{
    _mm512_storeu_si512(y, value);
}

static inline S s32_load(M live, const int32_t *x)
{
    return _mm512_maskz_loadu_epi32(live, x);
}

static inline void s32_store(int32_t *y, M live, S value)
{
    _mm512_mask_storeu_epi32(y, live, value);
}

static inline S s32_add(S a, S b)
{
    return _mm512_add_epi32(a, b);
}

static inline S s32_sub(S a, S b)
{
    return _mm512_sub_epi32(a, b);
}

static inline S s32_mul(S a, S b)
{
    return _mm512_mullo_epi32(a, b);
}

static inline S s32_max(S a, S b)
{
    return _mm512_max_epi32(a, b);
}

static inline S s32_min(S a, S b)
{
    return _mm512_min_epi32(a, b);
}

#endif
