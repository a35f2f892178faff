#include "softmax.h"

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
