#include "softmax.h"

#include <math.h>

#include "nnf/math_neon.h"
#include "nnf/partial_neon.h"

void nnf_softmax_f32_rows__neon_4(size_t n, const float *x, float *y, float beta)
{
    float max = x[0];
    size_t i = 0;
    if (n >= 4) {
        float32x4_t most = vld1q_f32(x);
        for (i = 4; i + 4 <= n; i += 4)
            most = vmaxq_f32(most, vld1q_f32(x + i));
        max = vmaxvq_f32(most); /* a NaN, which the sum would become anyway, stays one */
    }
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    const float32x4_t shift = vdupq_n_f32(max);
    float32x4_t sum[2] = {vdupq_n_f32(0), vdupq_n_f32(0)};
    for (i = 0; i + 4 <= n; i += 4) {
        const float32x4_t power = nnf_exp_neg_neon(vmulq_n_f32(vsubq_f32(vld1q_f32(x + i), shift), beta));
        sum[i / 4 % 2] = vaddq_f32(sum[i / 4 % 2], power);
        vst1q_f32(y + i, power);
    }
    if (i < n) {
        const float32x4_t value = nnf_load_f32_neon(x + i, n - i);
        const float32x4_t power = nnf_exp_neg_neon(vmulq_n_f32(vsubq_f32(value, shift), beta));
        nnf_store_f32_neon(y + i, power, n - i);
        sum[0] = vaddq_f32(sum[0], nnf_load_f32_neon(y + i, n - i));
    }
    const float inverse = 1.0f / vaddvq_f32(vaddq_f32(sum[0], sum[1]));
    for (i = 0; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vmulq_n_f32(vld1q_f32(y + i), inverse));
    for (; i < n; i++)
        y[i] *= inverse;
}

/* (x - most) beta in double, of two lanes. */
static inline float64x2_t scaled(float32x2_t x, float64x2_t most, double beta)
{
    return vmulq_n_f64(vsubq_f64(vcvt_f64_f32(x), most), beta);
}

void nnf_log_softmax_f32_rows__neon_4(size_t n, const float *x, float *y, float beta)
{
    const size_t whole = n / 4 * 4;
    const double factor = beta;
    /* The sign of beta turned into that of x: then the largest is sought. A NaN would spoil the sum anyway. */
    const float turn = beta < 0 ? -1.0f : 1.0f;
    float32x4_t best = vdupq_n_f32(turn * x[0]);
    for (size_t i = 0; i < whole; i += 4)
        best = vmaxq_f32(best, vmulq_n_f32(vld1q_f32(x + i), turn));
    for (size_t i = whole; i < n; i++)
        best = vmaxq_f32(best, vdupq_n_f32(turn * x[i]));
    const double first = (double)(turn * vmaxvq_f32(best));
    const float64x2_t most = vdupq_n_f64(first);
    float64x2_t sum[2] = {vdupq_n_f64(0), vdupq_n_f64(0)};
    double total = 0;
    for (size_t i = 0; i < whole; i += 4) {
        const float32x4_t value = vld1q_f32(x + i);
        const float32x2_t low = vcvt_f32_f64(scaled(vget_low_f32(value), most, factor));
        const float64x2_t high = scaled(vget_high_f32(value), most, factor);
        const float32x4_t power = nnf_exp_neg_neon(vcvt_high_f32_f64(low, high));
        sum[0] = vaddq_f64(sum[0], vcvt_f64_f32(vget_low_f32(power)));
        sum[1] = vaddq_f64(sum[1], vcvt_high_f64_f32(power));
    }
    for (size_t i = whole; i < n; i++) {
        const float32x4_t power = nnf_exp_neg_neon(vdupq_n_f32((float)(((double)x[i] - first) * factor)));
        total += (double)vgetq_lane_f32(power, 0);
    }
    const double logarithm = log(total + vaddvq_f64(vaddq_f64(sum[0], sum[1])));
    const float64x2_t shift = vdupq_n_f64(logarithm);
    for (size_t i = 0; i < whole; i += 4) {
        const float32x4_t value = vld1q_f32(x + i);
        const float64x2_t low = vsubq_f64(scaled(vget_low_f32(value), most, factor), shift);
        const float64x2_t high = vsubq_f64(scaled(vget_high_f32(value), most, factor), shift);
        vst1q_f32(y + i, vcvt_high_f32_f64(vcvt_f32_f64(low), high));
    }
    for (size_t i = whole; i < n; i++)
        y[i] = (float)(((double)x[i] - first) * factor - logarithm);
}
