/* exp, logistic and tanh on 4 floats. Include only from NEON files.
 *
 * Largest relative error, found against double: exp 1.2e-7, logistic and tanh 2e-7. Polynomials are near-minimax fits
 * by iteratively reweighted least squares. */
#ifndef NNF_MATH_NEON_H
#define NNF_MATH_NEON_H

#include <arm_neon.h>

#include "nnf/unroll.h"

/* a + p x, by which Horner's rule goes on. */
static inline float32x4_t nnf_horner_neon(float32x4_t p, float32x4_t x, float a)
{
    return vfmaq_f32(vdupq_n_f32(a), p, x);
}

/* e^x for x <= 89, from where on it is infinite; a NaN stays one.
 * e^x = 2^n e^r with |r| <= log(2)/2; e^r = 1 + r + r^2 q(r), q within 3e-9. */
static inline float32x4_t nnf_exp_neg_neon(float32x4_t x)
{
    x = vmaxq_f32(x, vdupq_n_f32(-104.0f)); /* e^-104 is below half of the smallest subnormal */
    const float32x4_t n = vrndnq_f32(vmulq_n_f32(x, 1.44269504f));
    float32x4_t r = vfmaq_f32(x, n, vdupq_n_f32(-0.693359375f));
    r = vfmaq_f32(r, n, vdupq_n_f32(2.12194440e-4f));
    float32x4_t p = nnf_horner_neon(vdupq_n_f32(1.381422160193324e-03f), r, 8.36889911442995e-03f);
    p = nnf_horner_neon(p, r, 4.166840389370918e-02f);
    p = nnf_horner_neon(p, r, 1.666651964187622e-01f);
    p = nnf_horner_neon(p, r, 4.999999403953552e-01f);
    p = vaddq_f32(vfmaq_f32(r, p, vmulq_f32(r, r)), vdupq_n_f32(1.0f));
    /* 2^n in two factors, so that results below 2^-126 become subnormal instead of wrong. */
    const int32x4_t bias = vdupq_n_s32(127), whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    const float32x4_t first = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
    const float32x4_t rest = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23));
    return vmulq_f32(vmulq_f32(p, first), rest);
}

/* 1 / (1 + e^-x), by e^-|x| so that neither end loses digits. */
static inline float32x4_t nnf_logistic_neon(float32x4_t x)
{
    const float32x4_t one = vdupq_n_f32(1.0f), e = nnf_exp_neg_neon(vnegq_f32(vabsq_f32(x)));
    return vdivq_f32(vbslq_f32(vcgezq_f32(x), one, e), vaddq_f32(one, e));
}

/* (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x; below 0.625, where that cancels, x + x^3 t(x^2), t within 5e-9. */
static inline float32x4_t nnf_tanh_neon(float32x4_t x)
{
    const float32x4_t one = vdupq_n_f32(1.0f), size = vabsq_f32(x), e = nnf_exp_neg_neon(vmulq_n_f32(size, -2.0f));
    const float32x4_t far = vbslq_f32(vdupq_n_u32(0x80000000), x, vdivq_f32(vsubq_f32(one, e), vaddq_f32(one, e)));
    const float32x4_t z = vmulq_f32(x, x);
    float32x4_t t = nnf_horner_neon(vdupq_n_f32(-5.648316349834204e-03f), z, 2.058982662856579e-02f);
    t = nnf_horner_neon(t, z, -5.372512713074684e-02f);
    t = nnf_horner_neon(t, z, 1.3331274688243866e-01f);
    t = nnf_horner_neon(t, z, -3.3333274722099304e-01f);
    return vbslq_f32(vcltq_f32(size, vdupq_n_f32(0.625f)), vfmaq_f32(x, t, vmulq_f32(x, z)), far);
}

/* e^r - 1 for |r| <= log(2)/2 on 2 doubles, by its series up to r^11: relative error below 1e-13. */
static inline float64x2_t nnf_expm1_near_neon(float64x2_t r)
{
    static const double inverse[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                     1.0 / 24, 1.0 / 6, 1.0 / 2};
    float64x2_t p = vdupq_n_f64(1.0 / 39916800);
    NNF_UNROLL
    for (int k = 0; k < 9; k++)
        p = vfmaq_f64(vdupq_n_f64(inverse[k]), p, r);
    return vfmaq_f64(r, p, vmulq_f64(r, r));
}

#endif
