/* Names that all levels share: 16 codes of 8 bits as integers of 32; include only from AVX-512 files. */
#ifndef NNF_SIMD_CODES_AVX512_H
#define NNF_SIMD_CODES_AVX512_H

#include <stdbool.h>

#include "nnf/requantize_avx512.h"
#include "nnf/simd/f32_avx512.h"

enum { CODES = 16, CODE_REGISTERS = 1 };

typedef __m512i C;

static inline C codes_all(int32_t value) { return _mm512_set1_epi32(value); }
static inline C codes_add(C a, C b) { return _mm512_add_epi32(a, b); }
/* c + a b */
static inline C codes_mla(C c, C a, int32_t b) { return _mm512_add_epi32(c, _mm512_mullo_epi32(codes_all(b), a)); }

static inline C codes_between(int32_t lo, int32_t hi, C x)
{
    return _mm512_min_epi32(_mm512_max_epi32(x, codes_all(lo)), codes_all(hi));
}

/* x times multiplier * 2^exponent as nnf_mbqm. */
static inline C codes_scale(C x, int32_t multiplier, int32_t exponent)
{
    return nnf_mbqm_avx512(x, codes_all(multiplier), codes_all(exponent > 0 ? exponent : 0),
                           codes_all(exponent > 0 ? 0 : -exponent));
}

static inline C codes_widen(__m128i bytes, bool is_signed, int32_t zero)
{
    const C code = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
    return _mm512_sub_epi32(code, codes_all(zero));
}

/* The codes less their zero point. */
static inline C codes_load_whole(const uint8_t *x, bool is_signed, int32_t zero)
{
    return codes_widen(_mm_loadu_si128((const __m128i *)x), is_signed, zero);
}

static inline __mmask16 codes_first(size_t count)
{
    return count < CODES ? (__mmask16)((1u << count) - 1) : (__mmask16)0xFFFF;
}

/* Of the first `count` codes. */
static inline C codes_load(size_t count, const uint8_t *x, bool is_signed, int32_t zero)
{
    return codes_widen(_mm_maskz_loadu_epi8(codes_first(count), x), is_signed, zero);
}

static inline void codes_store_whole(uint8_t *y, C x) { _mm_storeu_si128((__m128i *)y, _mm512_cvtepi32_epi8(x)); }

static inline void codes_store(uint8_t *y, size_t count, C x)
{
    _mm_mask_storeu_epi8(y, codes_first(count), _mm512_cvtepi32_epi8(x));
}

/* Register `part` of the codes as floats. */
static inline V codes_float(C x, int part)
{
    (void)part; /* there is one */
    return _mm512_cvtepi32_ps(x);
}

/* The whole part of floats, of as many registers as C has. */
static inline C codes_whole(const V *x) { return _mm512_cvttps_epi32(x[0]); }

/* Floats below 2^22 to the nearest whole number, ties away from zero: less than a half more, of the same sign, then cut. */
static inline C codes_nearest(const V *x)
{
    return _mm512_cvttps_epi32(add(x[0], bits_or(all(0.49999997f), bits_and(x[0], all(-0.0f)))));
}

static inline C codes_load_s32(size_t count, const int32_t *x)
{
    return count >= CODES ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi32(codes_first(count), x);
}

static inline void codes_store_s32(int32_t *y, C x) { _mm512_storeu_si512(y, x); }
static inline C codes_mul(C a, C b) { return _mm512_mullo_epi32(a, b); }
static inline C codes_raise(C x, int bits) { return _mm512_slli_epi32(x, (unsigned)bits); }
static inline C codes_lower(C x, int bits) { return _mm512_sra_epi32(x, _mm_cvtsi32_si128(bits)); }
/* a < b ? -1 : 0 */
static inline C codes_below(C a, C b) { return _mm512_movm_epi32(_mm512_cmplt_epi32_mask(a, b)); }
/* x < 0 ? yes : no */
static inline C codes_if_below(C x, C yes, C no) { return _mm512_mask_mov_epi32(no, _mm512_movepi32_mask(x), yes); }

/* codes_scale with its own multiplier and shifts for each lane; one of the shifts is 0. */
static inline C codes_scale_each(C x, C multiplier, C left, C right)
{
    return nnf_mbqm_avx512(x, multiplier, left, right);
}

/* Not on other processors: the product of a and b in 16 bits with a sign, of which b has no more. */
static inline C codes_mul_short(C a, C b) { return _mm512_madd_epi16(a, b); }

/* Not on other processors: (2 x multiplier + terms) >> (32 + shift), but that a negative x counts one less in the upper
 * half; |x| < 2^29. With the roundings as terms that is codes_scale. */
static inline C codes_scale_terms(C x, int32_t multiplier, int64_t terms, int shift)
{
    const C twice = _mm512_add_epi32(x, x), by = codes_all(multiplier), more = _mm512_set1_epi64(terms);
    const C even = _mm512_add_epi64(_mm512_mul_epi32(twice, by), more);
    const C odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(twice, 32), by), more);
    const C both = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
    return _mm512_sra_epi32(_mm512_add_epi32(both, _mm512_srai_epi32(x, 31)), _mm_cvtsi32_si128(shift));
}

/* Not on other processors: the bytes of four, saturated, in each 128 bits those of its own. */
static inline __m512i codes_pack_near(const bool is_signed, const C *x)
{
    const C low = _mm512_packs_epi32(x[0], x[1]), high = _mm512_packs_epi32(x[2], x[3]);
    return is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

/* Not on other processors: the same, one after the other. */
static inline __m512i codes_pack(const bool is_signed, const C *x)
{
    const C order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, codes_pack_near(is_signed, x));
}

/* Not on other processors. */
static inline C codes_and(C a, C b) { return _mm512_and_si512(a, b); }
static inline C codes_min(C a, C b) { return _mm512_min_epi32(a, b); }
/* Whether a lane is below a limit. */
static inline int codes_some_below(C x, int32_t limit)
{
    return _mm512_cmplt_epi32_mask(x, codes_all(limit));
}

/* x times multiplier * 2^-shift as nnf_mbqm, shift >= 0. */
static inline C codes_scale_down(C x, int32_t multiplier, int32_t shift)
{
    return nnf_mbqm_avx512(x, codes_all(multiplier), _mm512_setzero_si512(), codes_all(shift));
}

#endif
