/* Loads and stores of the first lanes of a vector; include only from AVX2 files. A masked store takes several times as
 * long as a whole one, on AMD's processors ten times. */
#ifndef NNF_PARTIAL_AVX2_H
#define NNF_PARTIAL_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Ones in so many lanes of eight: in all from 8 on, in none up to 0. */
static inline __m256i nnf_lanes_avx2(ptrdiff_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The first `count` of up to seven lanes, of any 32 bits, in up to three stores. */
static inline void nnf_store_few_avx2(void *to, ptrdiff_t count, __m256i value)
{
    char *y = to;
    __m128i v = _mm256_castsi256_si128(value);
    if (count >= 4) {
        _mm_storeu_si128((__m128i *)y, v);
        v = _mm256_extracti128_si256(value, 1);
        y += 16;
        count -= 4;
    }
    if (count >= 2) {
        _mm_storel_epi64((__m128i *)y, v);
        v = _mm_unpackhi_epi64(v, v);
        y += 8;
        count -= 2;
    }
    if (count > 0) {
        const int32_t last = _mm_cvtsi128_si32(v);
        memcpy(y, &last, 4);
    }
}

static inline void nnf_store_f32_avx2(float *y, ptrdiff_t count, __m256 value)
{
    if (count >= 8)
        _mm256_storeu_ps(y, value);
    else
        nnf_store_few_avx2(y, count, _mm256_castps_si256(value));
}

static inline void nnf_store_s32_avx2(int32_t *y, ptrdiff_t count, __m256i value)
{
    if (count >= 8)
        _mm256_storeu_si256((__m256i *)y, value);
    else
        nnf_store_few_avx2(y, count, value);
}

#endif
