/* word16.h on 16 lanes, bit for bit. Include only from files of AVX2 and above. */
#ifndef NNF_WORD16_AVX2_H
#define NNF_WORD16_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "nnf/word16.h"

/* Equal to nnf_mul16 but for -1 times -1, which no caller has. */
static inline __m256i nnf_mul16_avx2(__m256i a, __m256i b)
{
    return _mm256_mulhrs_epi16(a, b);
}

static inline __m256i nnf_twice16_avx2(__m256i a)
{
    return _mm256_adds_epi16(a, a);
}

static inline __m256i nnf_exp_quarter16_avx2(__m256i a)
{
    const __m256i one = _mm256_set1_epi16(1), centre = _mm256_set1_epi16(28918);
    const __m256i x = _mm256_add_epi16(a, _mm256_set1_epi16(1 << 12)), x2 = nnf_mul16_avx2(x, x);
    const __m256i x3 = nnf_mul16_avx2(x2, x), x4 = nnf_mul16_avx2(x2, x2);
    /* The fourth power is not negative. */
    __m256i tail = _mm256_srai_epi16(_mm256_add_epi16(x4, _mm256_set1_epi16(2)), 2);
    tail = nnf_mul16_avx2(_mm256_add_epi16(tail, x3), _mm256_set1_epi16(10923));
    tail = _mm256_add_epi16(tail, x2);
    tail = _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(tail, one), _mm256_srai_epi16(tail, 15)), 1);
    return _mm256_adds_epi16(centre, nnf_mul16_avx2(centre, _mm256_add_epi16(x, tail)));
}

static inline __m256i nnf_exp_neg16_avx2(__m256i a, int bits)
{
    static const int16_t factors[] = NNF_EXP16_FACTORS;
    const int fraction = 15 - bits, quarter = 1 << (fraction - 2);
    const __m256i low = _mm256_sub_epi16(_mm256_and_si256(a, _mm256_set1_epi16((int16_t)(quarter - 1))),
                                         _mm256_set1_epi16((int16_t)quarter));
    const __m256i rest = _mm256_sub_epi16(low, a);
    __m256i result = nnf_exp_quarter16_avx2(_mm256_sll_epi16(low, _mm_cvtsi32_si128(bits)));
    for (int j = -2; j < bits && j <= 4; j++) {
        const __m256i bit = _mm256_set1_epi16((int16_t)(1 << (fraction + j)));
        const __m256i set = _mm256_cmpeq_epi16(_mm256_and_si256(rest, bit), bit);
        result = _mm256_blendv_epi8(result, nnf_mul16_avx2(result, _mm256_set1_epi16(factors[j + 2])), set);
    }
    if (bits > 5) {
        const __m256i least = _mm256_set1_epi16((int16_t) - (1 << (fraction + 5)));
        result = _mm256_andnot_si256(_mm256_cmpgt_epi16(least, a), result);
    }
    return _mm256_blendv_epi8(result, _mm256_set1_epi16(INT16_MAX), _mm256_cmpeq_epi16(a, _mm256_setzero_si256()));
}

static inline __m256i nnf_newton16_avx2(__m256i a)
{
    const __m256i half = _mm256_avg_epu16(a, _mm256_set1_epi16(INT16_MAX));
    __m256i x = _mm256_add_epi16(_mm256_set1_epi16(23130), nnf_mul16_avx2(half, _mm256_set1_epi16(-15420)));
    for (int i = 0; i < 3; i++) {
        __m256i step = _mm256_sub_epi16(_mm256_set1_epi16(1 << 13), nnf_mul16_avx2(half, x));
        step = nnf_mul16_avx2(x, step);
        x = _mm256_add_epi16(x, nnf_twice16_avx2(nnf_twice16_avx2(step)));
    }
    return x;
}

/* -|a|, which is never out of range. */
static inline __m256i nnf_below16_avx2(__m256i a)
{
    return _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_abs_epi16(a));
}

static inline __m256i nnf_logistic16_avx2(__m256i a, int bits)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i y = nnf_twice16_avx2(nnf_newton16_avx2(nnf_exp_neg16_avx2(nnf_below16_avx2(a), bits)));
    const __m256i other = _mm256_sub_epi16(_mm256_set1_epi16(INT16_MAX), y);
    const __m256i result = _mm256_blendv_epi8(other, y, _mm256_cmpgt_epi16(a, zero));
    return _mm256_blendv_epi8(result, _mm256_set1_epi16(1 << 14), _mm256_cmpeq_epi16(a, zero));
}

static inline __m256i nnf_tanh16_avx2(__m256i a, int bits)
{
    const __m256i y = _mm256_sub_epi16(nnf_newton16_avx2(nnf_exp_neg16_avx2(nnf_below16_avx2(a), bits + 1)),
                                       _mm256_set1_epi16(1 << 13));
    return _mm256_sign_epi16(nnf_twice16_avx2(nnf_twice16_avx2(y)), a);
}

/* nnf_shrink on 8 lanes of 32 bits. */
static inline __m256i nnf_shrink_avx2(__m256i a, int bits)
{
    const __m256i mask = _mm256_set1_epi32((1 << bits) - 1);
    const __m256i half = _mm256_sub_epi32(_mm256_srli_epi32(mask, 1), _mm256_srai_epi32(a, 31));
    const __m256i up = _mm256_cmpgt_epi32(_mm256_and_si256(a, mask), half);
    return _mm256_sub_epi32(_mm256_sra_epi32(a, _mm_cvtsi32_si128(bits)), up);
}

#endif
