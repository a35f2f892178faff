/* exp, logistic and tanh on 16 floats, and what pow and elu need on 8 doubles. Include only from AVX-512 files.
 *
 * Largest relative error, found against double: exp 1.2e-7, logistic and tanh 2e-7. Polynomials are near-minimax fits
 * by iteratively reweighted least squares. */
#ifndef NNF_MATH_AVX512_H
#define NNF_MATH_AVX512_H

#include <immintrin.h>

#include "nnf/unroll.h"

/* e^x for x <= 89, from where on it is infinite; a NaN stays one.
 * e^x = 2^n e^r with |r| <= log(2)/2; e^r = 1 + r + r^2 q(r), q within 3e-9. */
static inline __m512 nnf_exp_neg_avx512(__m512 x)
{
    /* e^-104 is below half of the smallest subnormal. max returns its second operand when that is NaN. */
    x = _mm512_max_ps(_mm512_set1_ps(-104.0f), x);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.381422160193324e-03f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.36889911442995e-03f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.166840389370918e-02f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.666651964187622e-01f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.999999403953552e-01f));
    p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, n);
}

/* 1 / (1 + e^-x), by e^-|x| so that neither end loses digits. */
static inline __m512 nnf_logistic_avx512(__m512 x)
{
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 e = nnf_exp_neg_avx512(_mm512_sub_ps(_mm512_setzero_ps(), _mm512_abs_ps(x)));
    return _mm512_div_ps(_mm512_mask_mov_ps(e, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GE_OQ), one),
                         _mm512_add_ps(one, e));
}

/* (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x; below 0.625, where that cancels, x + x^3 t(x^2), t within 5e-9. */
static inline __m512 nnf_tanh_avx512(__m512 x)
{
    const __m512 one = _mm512_set1_ps(1.0f), size = _mm512_abs_ps(x);
    const __m512 e = nnf_exp_neg_avx512(_mm512_mul_ps(size, _mm512_set1_ps(-2.0f)));
    __m512 far = _mm512_div_ps(_mm512_sub_ps(one, e), _mm512_add_ps(one, e));
    far = _mm512_or_ps(far, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
    const __m512 z = _mm512_mul_ps(x, x);
    __m512 t = _mm512_set1_ps(-5.648316349834204e-03f);
    t = _mm512_fmadd_ps(t, z, _mm512_set1_ps(2.058982662856579e-02f));
    t = _mm512_fmadd_ps(t, z, _mm512_set1_ps(-5.372512713074684e-02f));
    t = _mm512_fmadd_ps(t, z, _mm512_set1_ps(1.3331274688243866e-01f));
    t = _mm512_fmadd_ps(t, z, _mm512_set1_ps(-3.3333274722099304e-01f));
    const __m512 near = _mm512_fmadd_ps(_mm512_mul_ps(x, z), t, x);
    return _mm512_mask_mov_ps(far, _mm512_cmp_ps_mask(size, _mm512_set1_ps(0.625f), _CMP_LT_OQ), near);
}

/* e^r - 1 for |r| <= log(2)/2 on 8 doubles, by its series up to r^11: relative error below 1e-13. */
static inline __m512d nnf_expm1_near_avx512(__m512d r)
{
    static const double inverse[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                     1.0 / 24, 1.0 / 6, 1.0 / 2};
    __m512d p = _mm512_set1_pd(1.0 / 39916800);
    NNF_UNROLL
    for (int k = 0; k < 9; k++)
        p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(inverse[k]));
    return _mm512_fmadd_pd(p, _mm512_mul_pd(r, r), r);
}

#endif
