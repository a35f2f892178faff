/* 8 floats under short names, so that a kernel's body can be written once for all widths: V is a vector, M says which
 * of its lanes count. Loads give zeros in the others. Include only from AVX2 files. */
#ifndef NNF_SIMD_F32_AVX2_H
#define NNF_SIMD_F32_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES = 8 };

typedef __m256 V;
typedef struct {
    int whole;     /* all lanes count */
    __m256i lanes; /* all ones in those that do */
} M;

static inline M first_lanes(size_t count)
{
    const int most = count < LANES ? (int)count : LANES;
    return (M){most == LANES,
               _mm256_cmpgt_epi32(_mm256_set1_epi32(most), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))};
}

/* Never taken as whole, so that loads and stores ask nothing. */
static inline M lanes_from(size_t first, M live)
{
    return (M){0, _mm256_andnot_si256(first_lanes(first).lanes, live.lanes)};
}

/* A masked store costs several times a whole one, and hides what it writes from the next load. */
static inline V load(M live, const float *x)
{
    return live.whole ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, live.lanes);
}

static inline void store(float *y, M live, V value)
{
    if (live.whole)
        _mm256_storeu_ps(y, value);
    else
        _mm256_maskstore_ps(y, live.lanes, value);
}

static inline V load_whole(const float *x) { return _mm256_loadu_ps(x); }
static inline void store_whole(float *y, V value) { _mm256_storeu_ps(y, value); }
static inline V keep(M live, V value) { return _mm256_and_ps(_mm256_castsi256_ps(live.lanes), value); }
static inline V zero(void) { return _mm256_setzero_ps(); }
static inline V all(float value) { return _mm256_set1_ps(value); }
static inline V add(V a, V b) { return _mm256_add_ps(a, b); }
static inline V sub(V a, V b) { return _mm256_sub_ps(a, b); }
static inline V mul(V a, V b) { return _mm256_mul_ps(a, b); }
static inline V fmadd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
/* c - a b */
static inline V fnmadd(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
/* min/max return the second operand when either is NaN: x comes second, so that a NaN stays. */
static inline V between(V lo, V hi, V x) { return _mm256_min_ps(hi, _mm256_max_ps(lo, x)); }
static inline int has_nan(V x) { return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0; }
static inline V clamp(V x, float limit) { return between(all(-limit), all(limit), x); }
static inline V inverse_root(float x) { return _mm256_div_ps(all(1.0f), _mm256_sqrt_ps(all(x))); }

static inline float total(V x)
{
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

/* Of 8 vectors: the sum of the lanes of each. */
static inline void totals_of_8(const V x[8], float y[8])
{
    const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
    _mm256_storeu_ps(y, _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
}

static inline V put(V x, size_t lane, float value)
{
    const __m256i only = _mm256_cmpeq_epi32(_mm256_set1_epi32((int)lane), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_blendv_ps(x, all(value), _mm256_castsi256_ps(only));
}

static inline V bits_and(V a, V b) { return _mm256_and_ps(a, b); }
static inline V bits_or(V a, V b) { return _mm256_or_ps(a, b); }
static inline V divide(V a, V b) { return _mm256_div_ps(a, b); }
static inline V root(V x) { return _mm256_sqrt_ps(x); }
/* 1 / sqrt(x) */
static inline V inverse_roots(V x) { return _mm256_div_ps(all(1.0f), _mm256_sqrt_ps(x)); }
static inline V floor_of(V x) { return _mm256_floor_ps(x); }
/* To the nearest whole number, ties to the even one. */
static inline V nearest(V x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* a b to the nearest whole number, ties to the even one, where that is below 2^22: in a sum with this number, no bits are
 * left for fractions. */
static inline V nearest_product(V a, V b) { return sub(fmadd(a, b, all(0x1.8p23f)), all(0x1.8p23f)); }

/* x 2^n, n a whole number down to -150. In two factors, so that results below 2^-126 become subnormal, not wrong. */
static inline V times_power(V x, V n)
{
    const __m256i bias = _mm256_set1_epi32(127), whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    const V first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const __m256i more = _mm256_add_epi32(_mm256_sub_epi32(whole, half), bias);
    return mul(mul(x, first), _mm256_castsi256_ps(_mm256_slli_epi32(more, 23)));
}

/* The same of a result from 2^-126 on. */
static inline V times_normal_power(V x, V n)
{
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}

/* m of a normal x = m 2^power > 0 with 2/3 <= m < 4/3. */
static inline V split_power(V x, V *power)
{
    const __m256i base = _mm256_castps_si256(all(0x1.555556p-1f));
    const __m256i from = _mm256_sub_epi32(_mm256_castps_si256(x), base);
    *power = _mm256_cvtepi32_ps(_mm256_srai_epi32(from, 23));
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_and_si256(from, _mm256_set1_epi32(0x7fffff)), base));
}

static inline V size_of(V x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
/* Whether all_above costs less than what a shorter way behind it saves. */
enum { CHEAP_ALL_ABOVE = 1 };
/* Whether a > b in each lane. */
static inline int all_above(V a, V b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) == 255; }
static inline V negative(V x) { return _mm256_xor_ps(_mm256_set1_ps(-0.0f), x); }
/* A NaN of x stays, as in between. */
static inline V at_most(V hi, V x) { return _mm256_min_ps(hi, x); }
/* a > b ? a : b and a < b ? a : b, so that a NaN on either side gives b. */
static inline V larger(V a, V b) { return _mm256_max_ps(a, b); }
static inline V smaller(V a, V b) { return _mm256_min_ps(a, b); }

/* The largest lane. */
static inline float most_of(V x)
{
    __m128 best = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    best = _mm_max_ps(best, _mm_movehl_ps(best, best));
    return _mm_cvtss_f32(_mm_max_ss(best, _mm_movehdup_ps(best)));
}
/* The lanes that count of `yes`, the others of `no`. */
static inline V choose(M live, V yes, V no) { return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(live.lanes)); }
/* Of each lane yes where a > b, else no. */
static inline V where_above(V a, V b, V yes, V no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_GT_OQ));
}
/* Of each lane 0 where a > b, else x. */
static inline V zero_above(V a, V b, V x) { return _mm256_andnot_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ), x); }

/* Of each lane the value at a place below 2 LANES in two vectors, one behind the other. */
static inline V pick_of_two(const V x[2], const uint32_t *places)
{
    const __m256i at = _mm256_loadu_si256((const __m256i *)places);
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(x[0], at), _mm256_permutevar8x32_ps(x[1], at),
                            _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
}

/* A maximum that keeps NaNs: largest for the numbers, and N, which is told all values, for where a NaN has been. */
typedef V N;

static inline V largest(V a, V b) { return _mm256_max_ps(a, b); }
static inline N nan_none(void) { return zero(); }
static inline N nan_join(N n, V a, V b) { return bits_or(n, _mm256_cmp_ps(a, b, _CMP_UNORD_Q)); }
static inline V nan_put(N n, V x) { return bits_or(n, x); } /* all bits are a NaN */

/* x >= 0 ? yes : no */
static inline V unless_below(V x, V yes, V no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(x, zero(), _CMP_GE_OQ));
}

#endif
