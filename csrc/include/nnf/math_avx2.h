/* exp, logistic and tanh on 8 floats, and what pow and elu need on 4 doubles. Include only from AVX2 files.
 *
 * Largest relative error, found against double: exp 1.2e-7, logistic and tanh 2e-7. Polynomials are near-minimax fits
 * by iteratively reweighted least squares. */
#ifndef NNF_MATH_AVX2_H
#define NNF_MATH_AVX2_H

#include <immintrin.h>

#include "nnf/unroll.h"

/* e^x for x <= 89, from where on it is infinite; a NaN stays one.
 * e^x = 2^n e^r with |r| <= log(2)/2; e^r = 1 + r + r^2 q(r), q within 3e-9. */
static inline __m256 nnf_exp_neg_avx2(__m256 x)
{
    /* e^-104 is below half of the smallest subnormal. max returns its second operand when that is NaN. */
    x = _mm256_max_ps(_mm256_set1_ps(-104.0f), x);
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.381422160193324e-03f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.36889911442995e-03f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.166840389370918e-02f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.666651964187622e-01f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.999999403953552e-01f));
    p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
    /* 2^n in two factors, so that results below 2^-126 become subnormal instead of wrong. */
    const __m256i bias = _mm256_set1_epi32(127), whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    const __m256 first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const __m256 rest = _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(p, first), rest);
}

/* 1 / (1 + e^-x), by e^-|x| so that neither end loses digits. */
static inline __m256 nnf_logistic_avx2(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 e = nnf_exp_neg_avx2(_mm256_or_ps(_mm256_set1_ps(-0.0f), x));
    return _mm256_div_ps(_mm256_blendv_ps(e, one, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GE_OQ)),
                         _mm256_add_ps(one, e));
}

/* (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x; below 0.625, where that cancels, x + x^3 t(x^2), t within 5e-9. */
static inline __m256 nnf_tanh_avx2(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f), size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
    const __m256 e = nnf_exp_neg_avx2(_mm256_mul_ps(size, _mm256_set1_ps(-2.0f)));
    __m256 far = _mm256_div_ps(_mm256_sub_ps(one, e), _mm256_add_ps(one, e));
    far = _mm256_or_ps(far, _mm256_and_ps(x, _mm256_set1_ps(-0.0f)));
    const __m256 z = _mm256_mul_ps(x, x);
    __m256 t = _mm256_set1_ps(-5.648316349834204e-03f);
    t = _mm256_fmadd_ps(t, z, _mm256_set1_ps(2.058982662856579e-02f));
    t = _mm256_fmadd_ps(t, z, _mm256_set1_ps(-5.372512713074684e-02f));
    t = _mm256_fmadd_ps(t, z, _mm256_set1_ps(1.3331274688243866e-01f));
    t = _mm256_fmadd_ps(t, z, _mm256_set1_ps(-3.3333274722099304e-01f));
    const __m256 near = _mm256_fmadd_ps(_mm256_mul_ps(x, z), t, x);
    return _mm256_blendv_ps(far, near, _mm256_cmp_ps(size, _mm256_set1_ps(0.625f), _CMP_LT_OQ));
}

/* e^r - 1 for |r| <= log(2)/2 on 4 doubles, by its series up to r^11: relative error below 1e-13. */
static inline __m256d nnf_expm1_near_avx2(__m256d r)
{
    static const double inverse[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                     1.0 / 24, 1.0 / 6, 1.0 / 2};
    __m256d p = _mm256_set1_pd(1.0 / 39916800);
    NNF_UNROLL
    for (int k = 0; k < 9; k++)
        p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(inverse[k]));
    return _mm256_fmadd_pd(p, _mm256_mul_pd(r, r), r);
}

#endif
