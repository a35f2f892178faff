#include "activation.h"

#include <math.h>

#include "nnf/math_neon.h"
#include "nnf/simd/f32_neon.h"

static inline V logistic(V x)
{
    return nnf_logistic_neon(x);
}

static inline V tangent(V x)
{
    return nnf_tanh_neon(x);
}

static inline V exponential(V x)
{
    return nnf_exp_neg_neon(x);
}

#define KERNEL(op) op##__neon_4

#include "activation/activation_simd.h"

/* Two results as doubles. e^x - 1 = 2^n (e^r - 1) + (2^n - 1) keeps its digits near 0; below -50 it is -1. */
static inline float64x2_t elu(float64x2_t x, float64x2_t alpha)
{
    const float64x2_t zero = vdupq_n_f64(0), most = vdupq_n_f64(700.0);
    const float64x2_t within = vmaxq_f64(vdupq_n_f64(-50.0), vminq_f64(most, x));
    const float64x2_t n = vrndnq_f64(vmulq_n_f64(within, 1.4426950408889634));
    float64x2_t r = vfmaq_f64(within, n, vdupq_n_f64(-6.93147180369123816490e-01));
    r = vfmaq_f64(r, n, vdupq_n_f64(-1.90821492927058770002e-10));
    const int64x2_t whole = vaddq_s64(vcvtq_s64_f64(n), vdupq_n_s64(1023));
    const float64x2_t power = vreinterpretq_f64_s64(vshlq_n_s64(whole, 52));
    float64x2_t e = vfmaq_f64(vsubq_f64(power, vdupq_n_f64(1.0)), power, nnf_expm1_near_neon(r));
    e = vmulq_f64(alpha, vbslq_f64(vcgtq_f64(x, most), vdupq_n_f64(INFINITY), e));
    return vaddq_f64(vmaxq_f64(zero, x), vbslq_f64(vcltzq_f64(e), e, zero)); /* a NaN product counts as 0 */
}

void nnf_elu_f32_flat__neon_4(size_t n, const float *x, float *y, float alpha)
{
    const float64x2_t slope = vdupq_n_f64((double)alpha);
    for (size_t i = 0; i < n; i += 4) {
        const float32x4_t value = nnf_load_f32_neon(x + i, n - i);
        const float32x2_t low = vcvt_f32_f64(elu(vcvt_f64_f32(vget_low_f32(value)), slope));
        nnf_store_f32_neon(y + i, vcvt_high_f32_f64(low, elu(vcvt_high_f64_f32(value), slope)), n - i);
    }
}

/* The table lies in four groups of registers; a code beyond a group's end leaves what the groups before it gave. */
void nnf_lookup_qu8_flat__neon_16(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    const uint8x16x4_t first = vld1q_u8_x4(table), second = vld1q_u8_x4(table + 64);
    const uint8x16x4_t third = vld1q_u8_x4(table + 128), fourth = vld1q_u8_x4(table + 192);
    const uint8x16_t size = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t codes = vld1q_u8(x + i), found = vqtbl4q_u8(first, codes);
        codes = vsubq_u8(codes, size);
        found = vqtbx4q_u8(found, second, codes);
        codes = vsubq_u8(codes, size);
        found = vqtbx4q_u8(found, third, codes);
        codes = vsubq_u8(codes, size);
        vst1q_u8(y + i, vqtbx4q_u8(found, fourth, codes));
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}
