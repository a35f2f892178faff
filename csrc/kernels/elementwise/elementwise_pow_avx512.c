#include "elementwise.h"

#include <immintrin.h>
#include <math.h>

#include "nnf/simd/f64_avx512.h"
#include "nnf/math_simd.h"
#include "nnf/unroll.h"

enum { DOWN = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC };

/* log2(a) for floats a >= 0 as doubles, all of which are normal; -inf, inf and NaN for 0, inf and NaN.
 * a = 2^e m with m in [sqrt(1/2), sqrt(2)]; log(m) = 2 artanh(s), s = (m - 1) / (m + 1), relative error below 1e-14. */
static inline __m512d log2_of(__m512d a)
{
    const __m512d one = _mm512_set1_pd(1.0);
    __m512d e = _mm512_getexp_pd(a), m = _mm512_getmant_pd(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    const __mmask8 high = _mm512_cmp_pd_mask(m, _mm512_set1_pd(1.4142135623730951), _CMP_GT_OQ);
    m = _mm512_mask_mul_pd(m, high, m, _mm512_set1_pd(0.5));
    e = _mm512_mask_add_pd(e, high, e, one);
    const __m512d s = _mm512_div_pd(_mm512_sub_pd(m, one), _mm512_add_pd(m, one)), z = _mm512_mul_pd(s, s);
    __m512d p = _mm512_set1_pd(1.0 / 17);
    NNF_UNROLL
    for (int k = 15; k > 0; k -= 2)
        p = _mm512_fmadd_pd(p, z, _mm512_set1_pd(1.0 / k));
    return _mm512_fmadd_pd(_mm512_mul_pd(s, _mm512_set1_pd(2.8853900817779268)), p, e);
}

/* 2^t, far enough to be 0 or infinite as a float. */
static inline __m512d exp2_of(__m512d t)
{
    /* min and max return the second operand when either is NaN. */
    t = _mm512_min_pd(_mm512_set1_pd(200.0), _mm512_max_pd(_mm512_set1_pd(-200.0), t));
    const __m512d n = _mm512_roundscale_pd(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512d r = _mm512_mul_pd(_mm512_sub_pd(t, n), _mm512_set1_pd(0.6931471805599453));
    return _mm512_scalef_pd(_mm512_add_pd(expm1_near(r), _mm512_set1_pd(1.0)), n);
}

/* x^y as C's pow has it, for doubles that came from floats. */
static inline __m512d power_of(__m512d x, __m512d y)
{
    const __m512d zero = _mm512_setzero_pd(), one = _mm512_set1_pd(1.0), infinity = _mm512_set1_pd(INFINITY);
    const __m512d a = _mm512_abs_pd(x), half = _mm512_mul_pd(y, _mm512_set1_pd(0.5));
    const __mmask8 whole = _mm512_cmp_pd_mask(_mm512_roundscale_pd(y, DOWN), y, _CMP_EQ_OQ);
    const __mmask8 odd = whole & _mm512_cmp_pd_mask(_mm512_roundscale_pd(half, DOWN), half, _CMP_NEQ_OQ);
    /* 1 to the power of anything, anything to the power of 0, and -1 to that of an infinity: 2^0 without a NaN. */
    const __mmask8 turns = _mm512_cmp_pd_mask(a, one, _CMP_EQ_OQ) &
                           _mm512_cmp_pd_mask(_mm512_abs_pd(y), infinity, _CMP_EQ_OQ);
    const __mmask8 unit = _mm512_cmp_pd_mask(x, one, _CMP_EQ_OQ) | _mm512_cmp_pd_mask(y, zero, _CMP_EQ_OQ) | turns;
    const __m512d value = exp2_of(_mm512_mask_mov_pd(_mm512_mul_pd(y, log2_of(a)), unit, zero));
    const __mmask8 below = _mm512_cmp_pd_mask(x, zero, _CMP_LT_OQ) & _mm512_cmp_pd_mask(a, infinity, _CMP_LT_OQ);
    const __mmask8 flipped = odd & _mm512_movepi64_mask(_mm512_castpd_si512(x));
    const __m512d signed_value = _mm512_mask_xor_pd(value, flipped, value, _mm512_set1_pd(-0.0));
    return _mm512_mask_mov_pd(signed_value, below & (__mmask8)~whole, _mm512_set1_pd(NAN));
}

void nnf_pow_f32_flat__avx512_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                float lo, float hi)
{
    if (n == 0)
        return;
    const __m256 low = _mm256_set1_ps(lo), high = _mm256_set1_ps(hi);
    const __m256 first_a = _mm256_set1_ps(*a), first_b = _mm256_set1_ps(*b);
    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 live = n - i >= 8 ? 0xFF : (__mmask8)((1u << (n - i)) - 1);
        const __m256 base = step_a ? _mm256_maskz_loadu_ps(live, a + i) : first_a;
        const __m256 exponent = step_b ? _mm256_maskz_loadu_ps(live, b + i) : first_b;
        const __m256 value = _mm512_cvtpd_ps(power_of(_mm512_cvtps_pd(base), _mm512_cvtps_pd(exponent)));
        _mm256_mask_storeu_ps(y + i, live, _mm256_min_ps(high, _mm256_max_ps(low, value)));
    }
}
