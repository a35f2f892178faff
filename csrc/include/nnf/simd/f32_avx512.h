/* 16 floats under short names, so that a kernel's body can be written once for all widths: V is a vector, M says which
 * of its lanes count. Loads give zeros in the others. Include only from AVX-512 files. */
#ifndef NNF_SIMD_F32_AVX512_H
#define NNF_SIMD_F32_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "nnf/unroll.h"

enum { LANES = 16 };

typedef __m512 V;
typedef __mmask16 M;

static inline M first_lanes(size_t count) { return count < LANES ? (M)((1u << count) - 1) : (M)0xffff; }
static inline V load(M live, const float *x) { return _mm512_maskz_loadu_ps(live, x); }
static inline void store(float *y, M live, V value) { _mm512_mask_storeu_ps(y, live, value); }
static inline V load_whole(const float *x) { return _mm512_loadu_ps(x); }
static inline void store_whole(float *y, V value) { _mm512_storeu_ps(y, value); }
static inline V keep(M live, V value) { return _mm512_maskz_mov_ps(live, value); }
static inline V zero(void) { return _mm512_setzero_ps(); }
static inline V all(float value) { return _mm512_set1_ps(value); }
static inline V add(V a, V b) { return _mm512_add_ps(a, b); }
static inline V sub(V a, V b) { return _mm512_sub_ps(a, b); }
static inline V mul(V a, V b) { return _mm512_mul_ps(a, b); }
static inline V fmadd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
/* c - a b */
static inline V fnmadd(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }
/* min/max return the second operand when either is NaN: x comes second, so that a NaN stays. */
static inline V between(V lo, V hi, V x) { return _mm512_min_ps(hi, _mm512_max_ps(lo, x)); }
static inline int has_nan(V x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0; }
static inline V clamp(V x, float limit) { return between(all(-limit), all(limit), x); }
static inline V inverse_root(float x) { return _mm512_div_ps(all(1.0f), _mm512_sqrt_ps(all(x))); }
static inline float total(V x) { return _mm512_reduce_add_ps(x); }

/* Of 8 vectors: the sum of the lanes of each. */
static inline void totals_of_8(const V x[8], float y[8])
{
    __m256 half[8];
    NNF_UNROLL
    for (int i = 0; i < 8; i++)
        half[i] = _mm256_add_ps(_mm512_castps512_ps256(x[i]), _mm512_extractf32x8_ps(x[i], 1));
    const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(half[0], half[1]), _mm256_hadd_ps(half[2], half[3]));
    const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(half[4], half[5]), _mm256_hadd_ps(half[6], half[7]));
    _mm256_storeu_ps(y, _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
}

static inline V bits_and(V a, V b) { return _mm512_and_ps(a, b); }
static inline V bits_or(V a, V b) { return _mm512_or_ps(a, b); }
static inline V divide(V a, V b) { return _mm512_div_ps(a, b); }
static inline V root(V x) { return _mm512_sqrt_ps(x); }
/* 1 / sqrt(x) within 1 ulp: an estimate y of 14 bits, and y + y e (1/2 + 3/8 e) with e = 1 - x y^2. Where e is NaN, as for
 * zeros, infinity and what has no root, the estimate is right. */
static inline V inverse_roots(V x)
{
    const V y = _mm512_rsqrt14_ps(x), e = _mm512_fnmadd_ps(_mm512_mul_ps(x, y), y, all(1.0f));
    const V more = _mm512_mul_ps(e, _mm512_fmadd_ps(e, all(0.375f), all(0.5f)));
    return _mm512_mask_fmadd_ps(y, _mm512_cmp_ps_mask(e, e, _CMP_ORD_Q), more, y);
}
static inline V floor_of(V x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
/* To the nearest whole number, ties to the even one. */
static inline V nearest(V x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* a b to the nearest whole number, ties to the even one, where that is below 2^22: in a sum with this number, no bits are
 * left for fractions. */
static inline V nearest_product(V a, V b) { return sub(fmadd(a, b, all(0x1.8p23f)), all(0x1.8p23f)); }
/* x 2^n, n a whole number. */
static inline V times_power(V x, V n) { return _mm512_scalef_ps(x, n); }
static inline V times_normal_power(V x, V n) { return times_power(x, n); }
/* m of a normal x = m 2^power > 0 with 2/3 <= m < 4/3. */
static inline V split_power(V x, V *power)
{
    const __m512i base = _mm512_castps_si512(all(0x1.555556p-1f));
    const __m512i from = _mm512_sub_epi32(_mm512_castps_si512(x), base);
    *power = _mm512_cvtepi32_ps(_mm512_srai_epi32(from, 23));
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_and_si512(from, _mm512_set1_epi32(0x7fffff)), base));
}

static inline V size_of(V x) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x); }
/* Whether all_above costs less than what a shorter way behind it saves. */
enum { CHEAP_ALL_ABOVE = 0 };
/* Whether a > b in each lane. */
static inline int all_above(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) == 0xFFFF; }
static inline V negative(V x) { return _mm512_xor_ps(_mm512_set1_ps(-0.0f), x); }
/* A NaN of x stays, as in between. */
static inline V at_most(V hi, V x) { return _mm512_min_ps(hi, x); }
/* a > b ? a : b and a < b ? a : b, so that a NaN on either side gives b. */
static inline V larger(V a, V b) { return _mm512_max_ps(a, b); }
static inline V smaller(V a, V b) { return _mm512_min_ps(a, b); }
/* The largest lane. */
static inline float most_of(V x) { return _mm512_reduce_max_ps(x); }
/* The lanes that count of `yes`, the others of `no`. */
static inline V choose(M live, V yes, V no) { return _mm512_mask_mov_ps(no, live, yes); }
/* Of each lane yes where a > b, else no. */
static inline V where_above(V a, V b, V yes, V no)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), no, yes);
}
/* Of each lane 0 where a > b, else x. */
static inline V zero_above(V a, V b, V x) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NGT_UQ), x); }

/* Of each lane the value at a place below 2 LANES in two vectors, one behind the other. */
static inline V pick_of_two(const V x[2], const uint32_t *places)
{
    return _mm512_permutex2var_ps(x[0], _mm512_loadu_si512(places), x[1]);
}

/* A maximum that keeps NaNs: largest for the numbers, and N, which is told all values, for where a NaN has been. */
typedef M N;

static inline V largest(V a, V b) { return _mm512_max_ps(a, b); }
static inline N nan_none(void) { return 0; }
static inline N nan_join(N n, V a, V b) { return _kor_mask16(n, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)); }
static inline V nan_put(N n, V x) { return _mm512_mask_mov_ps(x, n, _mm512_set1_ps(__builtin_nanf(""))); }

/* x >= 0 ? yes : no */
static inline V unless_below(V x, V yes, V no)
{
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(x, zero(), _CMP_GE_OQ), yes);
}

#endif
