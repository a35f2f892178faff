/* Names that all levels share: 8 codes of 8 bits as integers of 32; include only from AVX2 files. */
#ifndef NNF_SIMD_CODES_AVX2_H
#define NNF_SIMD_CODES_AVX2_H

#include <stdbool.h>

#include "nnf/partial.h"
#include "nnf/requantize_avx2.h"
#include "nnf/simd/f32_avx2.h"

enum { CODES = 8, CODE_REGISTERS = 1 };

typedef __m256i C;

static inline C codes_all(int32_t value) { return _mm256_set1_epi32(value); }
static inline C codes_add(C a, C b) { return _mm256_add_epi32(a, b); }
/* c + a b */
static inline C codes_mla(C c, C a, int32_t b) { return _mm256_add_epi32(c, _mm256_mullo_epi32(codes_all(b), a)); }

static inline C codes_between(int32_t lo, int32_t hi, C x)
{
    return _mm256_min_epi32(_mm256_max_epi32(x, codes_all(lo)), codes_all(hi));
}

/* x times multiplier * 2^exponent as nnf_mbqm. */
static inline C codes_scale(C x, int32_t multiplier, int32_t exponent)
{
    return nnf_mbqm_avx2(x, codes_all(multiplier), codes_all(exponent > 0 ? exponent : 0),
                         codes_all(exponent > 0 ? 0 : -exponent));
}

static inline C codes_widen(__m128i bytes, bool is_signed, int32_t zero)
{
    const C code = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
    return _mm256_sub_epi32(code, codes_all(zero));
}

/* The codes less their zero point. */
static inline C codes_load_whole(const uint8_t *x, bool is_signed, int32_t zero)
{
    return codes_widen(_mm_loadl_epi64((const __m128i *)x), is_signed, zero);
}

/* Of the first `count` codes. */
static inline C codes_load(size_t count, const uint8_t *x, bool is_signed, int32_t zero)
{
    return codes_widen(_mm_cvtsi64_si128((long long)nnf_load_bytes(x, count)), is_signed, zero);
}

/* The low byte of each lane, then the two halves side by side. */
static inline __m128i codes_narrow(C x)
{
    x = _mm256_shuffle_epi8(x, _mm256_set1_epi32(0x0C080400));
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}

static inline void codes_store_whole(uint8_t *y, C x) { _mm_storel_epi64((__m128i *)y, codes_narrow(x)); }

static inline void codes_store(uint8_t *y, size_t count, C x)
{
    nnf_store_bytes(y, (uint64_t)_mm_cvtsi128_si64(codes_narrow(x)), count);
}

/* Register `part` of the codes as floats. */
static inline V codes_float(C x, int part)
{
    (void)part; /* there is one */
    return _mm256_cvtepi32_ps(x);
}

/* The whole part of floats, of as many registers as C has. */
static inline C codes_whole(const V *x) { return _mm256_cvttps_epi32(x[0]); }

/* Floats below 2^22 to the nearest whole number, ties away from zero: less than a half more, of the same sign, then cut. */
static inline C codes_nearest(const V *x)
{
    return _mm256_cvttps_epi32(add(x[0], bits_or(all(0.49999997f), bits_and(x[0], all(-0.0f)))));
}

static inline C codes_load_s32(size_t count, const int32_t *x)
{
    return count >= CODES ? _mm256_loadu_si256((const __m256i *)x) : _mm256_maskload_epi32(x, first_lanes(count).lanes);
}

static inline void codes_store_s32(int32_t *y, C x) { _mm256_storeu_si256((__m256i *)y, x); }
static inline C codes_mul(C a, C b) { return _mm256_mullo_epi32(a, b); }
static inline C codes_raise(C x, int bits) { return _mm256_slli_epi32(x, (unsigned)bits); }
static inline C codes_lower(C x, int bits) { return _mm256_sra_epi32(x, _mm_cvtsi32_si128(bits)); }
/* a < b ? -1 : 0 */
static inline C codes_below(C a, C b) { return _mm256_cmpgt_epi32(b, a); }
/* x < 0 ? yes : no */
static inline C codes_if_below(C x, C yes, C no) { return _mm256_blendv_epi8(no, yes, _mm256_srai_epi32(x, 31)); }

/* codes_scale with its own multiplier and shifts for each lane; one of the shifts is 0. */
static inline C codes_scale_each(C x, C multiplier, C left, C right)
{
    return nnf_mbqm_avx2(x, multiplier, left, right);
}

/* Not on other processors: the product of a and b in 16 bits with a sign, of which b has no more. */
static inline C codes_mul_short(C a, C b) { return _mm256_madd_epi16(a, b); }

/* Not on other processors: (2 x multiplier + terms) >> (32 + shift), but that a negative x counts one less in the upper
 * half; |x| < 2^29. With the roundings as terms that is codes_scale. */
static inline C codes_scale_terms(C x, int32_t multiplier, int64_t terms, int shift)
{
    const C twice = _mm256_add_epi32(x, x), by = codes_all(multiplier), more = _mm256_set1_epi64x(terms);
    const C even = _mm256_add_epi64(_mm256_mul_epi32(twice, by), more);
    const C odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(twice, 32), by), more);
    const C both = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    return _mm256_sra_epi32(_mm256_add_epi32(both, _mm256_srai_epi32(x, 31)), _mm_cvtsi32_si128(shift));
}

/* Not on other processors: the bytes of four, saturated, in each 128 bits those of its own. */
static inline __m256i codes_pack_near(const bool is_signed, const C *x)
{
    const C low = _mm256_packs_epi32(x[0], x[1]), high = _mm256_packs_epi32(x[2], x[3]);
    return is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
}

/* Not on other processors: the same, one after the other. */
static inline __m256i codes_pack(const bool is_signed, const C *x)
{
    return _mm256_permutevar8x32_epi32(codes_pack_near(is_signed, x), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Not on other processors. */
static inline C codes_and(C a, C b) { return _mm256_and_si256(a, b); }
static inline C codes_min(C a, C b) { return _mm256_min_epi32(a, b); }
/* Whether a lane is below a limit. */
static inline int codes_some_below(C x, int32_t limit)
{
    return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(codes_all(limit), x)));
}

/* x times multiplier * 2^-shift as nnf_mbqm, shift >= 0. */
static inline C codes_scale_down(C x, int32_t multiplier, int32_t shift)
{
    return nnf_mbqm_avx2(x, codes_all(multiplier), _mm256_setzero_si256(), codes_all(shift));
}

#endif
