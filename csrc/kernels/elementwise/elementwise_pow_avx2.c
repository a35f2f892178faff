#include "elementwise.h"

#include <immintrin.h>
#include <math.h>

#include "nnf/simd/f64_avx2.h"
#include "nnf/math_simd.h"
#include "nnf/unroll.h"

/* log2(a) for floats a >= 0 as doubles, all of which are normal; -inf, inf and NaN for 0, inf and NaN.
 * a = 2^e m with m in [sqrt(1/2), sqrt(2)]; log(m) = 2 artanh(s), s = (m - 1) / (m + 1), relative error below 1e-14. */
static inline __m256d log2_of(__m256d a)
{
    const __m256d one = _mm256_set1_pd(1.0), magic = _mm256_set1_pd(0x1p52);
    const __m256i bits = _mm256_castpd_si256(a);
    const __m256d biased = _mm256_or_pd(_mm256_castsi256_pd(_mm256_srli_epi64(bits, 52)), magic);
    __m256d e = _mm256_sub_pd(biased, _mm256_set1_pd(0x1p52 + 1023));
    __m256d m = _mm256_castsi256_pd(_mm256_and_si256(bits, _mm256_set1_epi64x((INT64_C(1) << 52) - 1)));
    m = _mm256_or_pd(m, one);
    const __m256d high = _mm256_cmp_pd(m, _mm256_set1_pd(1.4142135623730951), _CMP_GT_OQ);
    m = _mm256_blendv_pd(m, _mm256_mul_pd(m, _mm256_set1_pd(0.5)), high);
    e = _mm256_add_pd(e, _mm256_and_pd(high, one));
    const __m256d s = _mm256_div_pd(_mm256_sub_pd(m, one), _mm256_add_pd(m, one)), z = _mm256_mul_pd(s, s);
    __m256d p = _mm256_set1_pd(1.0 / 17);
    NNF_UNROLL
    for (int k = 15; k > 0; k -= 2)
        p = _mm256_fmadd_pd(p, z, _mm256_set1_pd(1.0 / k));
    const __m256d found = _mm256_fmadd_pd(_mm256_mul_pd(s, _mm256_set1_pd(2.8853900817779268)), p, e);
    const __m256d finite = _mm256_cmp_pd(a, _mm256_set1_pd(INFINITY), _CMP_LT_OQ);
    const __m256d is_zero = _mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_EQ_OQ);
    return _mm256_blendv_pd(_mm256_blendv_pd(a, found, finite), _mm256_set1_pd(-INFINITY), is_zero);
}

/* 2^t, far enough to be 0 or infinite as a float. */
static inline __m256d exp2_of(__m256d t)
{
    /* min and max return the second operand when either is NaN. */
    t = _mm256_min_pd(_mm256_set1_pd(200.0), _mm256_max_pd(_mm256_set1_pd(-200.0), t));
    const __m256d n = _mm256_round_pd(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256d r = _mm256_mul_pd(_mm256_sub_pd(t, n), _mm256_set1_pd(0.6931471805599453));
    const __m256i whole = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n)), _mm256_set1_epi64x(1023));
    const __m256d power = _mm256_castsi256_pd(_mm256_slli_epi64(whole, 52));
    return _mm256_fmadd_pd(expm1_near(r), power, power);
}

/* x^y as C's pow has it, for doubles that came from floats. */
static inline __m256d power_of(__m256d x, __m256d y)
{
    const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1.0), sign = _mm256_set1_pd(-0.0);
    const __m256d a = _mm256_andnot_pd(sign, x), half = _mm256_mul_pd(y, _mm256_set1_pd(0.5));
    const __m256d whole = _mm256_cmp_pd(_mm256_floor_pd(y), y, _CMP_EQ_OQ);
    const __m256d odd = _mm256_and_pd(whole, _mm256_cmp_pd(_mm256_floor_pd(half), half, _CMP_NEQ_OQ));
    /* 1 to the power of anything, anything to the power of 0, and -1 to that of an infinity: 2^0 without a NaN. */
    const __m256d infinite = _mm256_cmp_pd(_mm256_andnot_pd(sign, y), _mm256_set1_pd(INFINITY), _CMP_EQ_OQ);
    __m256d unit = _mm256_or_pd(_mm256_cmp_pd(x, one, _CMP_EQ_OQ), _mm256_cmp_pd(y, zero, _CMP_EQ_OQ));
    unit = _mm256_or_pd(unit, _mm256_and_pd(_mm256_cmp_pd(a, one, _CMP_EQ_OQ), infinite));
    __m256d value = exp2_of(_mm256_andnot_pd(unit, _mm256_mul_pd(y, log2_of(a))));
    value = _mm256_xor_pd(value, _mm256_and_pd(_mm256_and_pd(x, sign), odd));
    const __m256d below = _mm256_and_pd(_mm256_cmp_pd(x, zero, _CMP_LT_OQ),
                                        _mm256_cmp_pd(a, _mm256_set1_pd(INFINITY), _CMP_LT_OQ));
    return _mm256_or_pd(value, _mm256_andnot_pd(whole, below)); /* all bits: a NaN */
}

void nnf_pow_f32_flat__avx2_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    if (n == 0)
        return;
    const __m128 low = _mm_set1_ps(lo), high = _mm_set1_ps(hi), first_a = _mm_set1_ps(*a), first_b = _mm_set1_ps(*b);
    for (size_t i = 0; i < n; i += 4) {
        const int left = n - i < 4 ? (int)(n - i) : 4;
        const __m128i live = _mm_cmpgt_epi32(_mm_set1_epi32(left), _mm_setr_epi32(0, 1, 2, 3));
        const __m128 base = step_a ? _mm_maskload_ps(a + i, live) : first_a;
        const __m128 exponent = step_b ? _mm_maskload_ps(b + i, live) : first_b;
        const __m128 value = _mm256_cvtpd_ps(power_of(_mm256_cvtps_pd(base), _mm256_cvtps_pd(exponent)));
        _mm_maskstore_ps(y + i, live, _mm_min_ps(high, _mm_max_ps(low, value)));
    }
}
