/* The multiplication by a quantized multiplier on 16 lanes; equal to nnf_mbqm bit for bit. Include only from AVX-512
 * files. */
#ifndef NNF_REQUANTIZE_AVX512_H
#define NNF_REQUANTIZE_AVX512_H

#include <immintrin.h>
#include <stdint.h>

/* Lanes of x times multiplier * 2^(left - right); left and right are >= 0 and one of them is 0.
 * multiplier >= 0, so the saturating case of the high multiply cannot occur. */
static inline __m512i nnf_mbqm_avx512(__m512i x, __m512i multiplier, __m512i left, __m512i right)
{
    const __m512i round = _mm512_set1_epi64(INT64_C(1) << 30);
    x = _mm512_sllv_epi32(x, left);
    __m512i even = _mm512_mul_epi32(x, multiplier);
    __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(multiplier, 32));
    even = _mm512_srli_epi64(_mm512_add_epi64(even, round), 31);
    odd = _mm512_slli_epi64(_mm512_add_epi64(odd, round), 1);
    x = _mm512_mask_mov_epi32(even, 0xAAAA, odd);
    /* To nearest, ties away from zero: compare the remainder with half of the divisor, one more for negative x. */
    const __m512i mask = _mm512_sub_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), right), _mm512_set1_epi32(1));
    const __m512i threshold = _mm512_add_epi32(_mm512_srli_epi32(mask, 1), _mm512_srli_epi32(x, 31));
    const __mmask16 up = _mm512_cmpgt_epi32_mask(_mm512_and_si512(x, mask), threshold);
    x = _mm512_srav_epi32(x, right);
    return _mm512_mask_add_epi32(x, up, x, _mm512_set1_epi32(1));
}

#endif
