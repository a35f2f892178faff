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

#endif
