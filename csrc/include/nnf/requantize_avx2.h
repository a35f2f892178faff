/* The multiplication by a quantized multiplier on 8 lanes; equal to nnf_mbqm bit for bit. Include only from AVX2
 * files. */
#ifndef NNF_REQUANTIZE_AVX2_H
#define NNF_REQUANTIZE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

/* As nnf_mbqm_avx512, on 8 lanes. */
static inline __m256i nnf_mbqm_avx2(__m256i x, __m256i multiplier, __m256i left, __m256i right)
{
    const __m256i round = _mm256_set1_epi64x(INT64_C(1) << 30);
    x = _mm256_sllv_epi32(x, left);
    __m256i even = _mm256_mul_epi32(x, multiplier);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(multiplier, 32));
    even = _mm256_srli_epi64(_mm256_add_epi64(even, round), 31);
    odd = _mm256_slli_epi64(_mm256_add_epi64(odd, round), 1);
    x = _mm256_blend_epi32(even, odd, 0xAA);
    const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), right), _mm256_set1_epi32(1));
    const __m256i threshold = _mm256_add_epi32(_mm256_srli_epi32(mask, 1), _mm256_srli_epi32(x, 31));
    const __m256i up = _mm256_cmpgt_epi32(_mm256_and_si256(x, mask), threshold);
    return _mm256_sub_epi32(_mm256_srav_epi32(x, right), up);
}

#endif
