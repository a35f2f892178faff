/* Loads and stores of the first lanes of a vector; include only from AVX2 files. A masked store takes several times as
 * long as a whole one, on AMD's processors ten times. */
#ifndef NNF_PARTIAL_AVX2_H
#define NNF_PARTIAL_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* Ones in so many lanes of eight: in all from 8 on, in none up to 0. */
static inline __m256i nnf_lanes_avx2(ptrdiff_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline void nnf_store_f32_avx2(float *y, ptrdiff_t count, __m256 value)
{
    if (count >= 8)
        _mm256_storeu_ps(y, value);
    else
        _mm256_maskstore_ps(y, nnf_lanes_avx2(count), value);
}

static inline void nnf_store_s32_avx2(int32_t *y, ptrdiff_t count, __m256i value)
{
    if (count >= 8)
        _mm256_storeu_si256((__m256i *)y, value);
    else
        _mm256_maskstore_epi32(y, nnf_lanes_avx2(count), value);
}

#endif
