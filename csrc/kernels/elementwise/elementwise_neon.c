#include "elementwise.h"

#include "nnf/partial_neon.h"
#include "nnf/requantize_neon.h"
#include "nnf/simd/f32_neon.h"

/* a where either is NaN: vmaxq would give a NaN of b */
static inline V first_or_larger(V a, V b) { return vbslq_f32(vcgtq_f32(b, a), b, a); }
static inline V first_or_smaller(V a, V b) { return vbslq_f32(vcltq_f32(b, a), b, a); }
static inline V sloped(V a, V b) { return vbslq_f32(vcgezq_f32(a), a, vmulq_f32(a, b)); }

#include "elementwise/elementwise_f32_simd.h"

/* Up to eight codes less the zero point; a repeated operand gives its first one. */
INLINE int16x8_t load_codes(int is_signed, const uint8_t *x, size_t i, size_t step, size_t live, int32_t zero)
{
    const uint8x8_t bytes = step ? nnf_load_u8_neon(x + i, live) : vdup_n_u8(*x);
    const int16x8_t code = is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
    return vsubq_s16(code, vdupq_n_s16((int16_t)zero));
}

INLINE int32x4_t scale(int32x4_t x, int32_t multiplier, int32_t shift)
{
    return nnf_scale_neon(x, vdupq_n_s32(multiplier), vdupq_n_s32(-shift));
}

/* Codes of scaled values. Saturation to 16 bits does not disturb the clamp, whose limits are codes. */
INLINE void store_codes(uint8_t *y, size_t live, int32x4_t first, int32x4_t second, const nnf_binary_q8 *p)
{
    const int16x8_t scaled = vcombine_s16(vqmovn_s32(first), vqmovn_s32(second));
    int16x8_t code = vqaddq_s16(scaled, vdupq_n_s16((int16_t)p->zero_y));
    code = vminq_s16(vmaxq_s16(code, vdupq_n_s16((int16_t)p->lo)), vdupq_n_s16((int16_t)p->hi));
    nnf_store_u8_neon(y, vreinterpret_u8_s8(vmovn_s16(code)), live);
}

/* Eight elements from i on, or the `live` that are left. */
INLINE void add_q8(int is_signed, size_t i, size_t live, const uint8_t *a, size_t step_a, const uint8_t *b,
                   size_t step_b, uint8_t *y, const nnf_binary_q8 *p)
{
    const int16x8_t code_a = load_codes(is_signed, a, i, step_a, live, p->zero_a);
    const int16x8_t code_b = load_codes(is_signed, b, i, step_b, live, p->zero_b);
    int32x4_t sum[2];
    for (int half = 0; half < 2; half++) {
        const int32x4_t wide_a = vmovl_s16(half ? vget_high_s16(code_a) : vget_low_s16(code_a));
        const int32x4_t wide_b = vmovl_s16(half ? vget_high_s16(code_b) : vget_low_s16(code_b));
        sum[half] = vaddq_s32(scale(vshlq_n_s32(wide_a, NNF_ADD_SHIFT), p->multiplier_a, p->shift_a),
                              scale(vshlq_n_s32(wide_b, NNF_ADD_SHIFT), p->multiplier_b, p->shift_b));
        sum[half] = scale(sum[half], p->multiplier_y, p->shift_y);
    }
    store_codes(y + i, live, sum[0], sum[1], p);
}

INLINE void mul_q8(int is_signed, size_t i, size_t live, const uint8_t *a, size_t step_a, const uint8_t *b,
                   size_t step_b, uint8_t *y, const nnf_binary_q8 *p)
{
    const int16x8_t code_a = load_codes(is_signed, a, i, step_a, live, p->zero_a);
    const int16x8_t code_b = load_codes(is_signed, b, i, step_b, live, p->zero_b);
    const int32x4_t low = vmull_s16(vget_low_s16(code_a), vget_low_s16(code_b));
    const int32x4_t high = vmull_high_s16(code_a, code_b);
    store_codes(y + i, live, scale(low, p->multiplier_y, p->shift_y), scale(high, p->multiplier_y, p->shift_y), p);
}

/* The multiplier of y for the product where the value is negative, else that of a for the value. */
INLINE int32x4_t prelu(int32x4_t value, int32x4_t product, const nnf_binary_q8 *p)
{
    const uint32x4_t below = vcltzq_s32(value);
    return nnf_mbqm_neon(vbslq_s32(below, product, value),
                         vbslq_s32(below, vdupq_n_s32(p->multiplier_y), vdupq_n_s32(p->multiplier_a)),
                         vbslq_s32(below, vdupq_n_s32(p->left_y), vdupq_n_s32(p->left_a)),
                         vbslq_s32(below, vdupq_n_s32(-p->shift_y), vdupq_n_s32(-p->shift_a)));
}

INLINE void prelu_q8(int is_signed, size_t i, size_t live, const uint8_t *a, size_t step_a, const uint8_t *b,
                     size_t step_b, uint8_t *y, const nnf_binary_q8 *p)
{
    const int16x8_t code_a = load_codes(is_signed, a, i, step_a, live, p->zero_a);
    const int16x8_t code_b = load_codes(is_signed, b, i, step_b, live, p->zero_b);
    const int32x4_t low = vmull_s16(vget_low_s16(code_a), vget_low_s16(code_b));
    const int32x4_t high = vmull_high_s16(code_a, code_b);
    store_codes(y + i, live, prelu(vmovl_s16(vget_low_s16(code_a)), low, p), prelu(vmovl_high_s16(code_a), high, p), p);
}

/* A copy, whose fields no store of codes can change for all that a compiler knows, stays in registers. */
#define EACH_EIGHT(f, is_signed)                                                                                       \
    do {                                                                                                               \
        const nnf_binary_q8 q = *p;                                                                                    \
        size_t i = 0;                                                                                                  \
        for (; i + 8 <= n; i += 8)                                                                                     \
            f(is_signed, i, 8, a, step_a, b, step_b, y, &q);                                                           \
        if (i < n)                                                                                                     \
            f(is_signed, i, n - i, a, step_a, b, step_b, y, &q);                                                       \
    } while (0)

void nnf_add_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_ADD, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_sub_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_SUB, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_mul_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MUL, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_div_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_DIV, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_max_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MAX, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_min_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MIN, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_prelu_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                float lo, float hi)
{
    binary(OP_PRELU, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_add_qu8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    EACH_EIGHT(add_q8, 0);
}

void nnf_add_qs8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    EACH_EIGHT(add_q8, 1);
}

void nnf_mul_qu8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    EACH_EIGHT(mul_q8, 0);
}

void nnf_mul_qs8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    EACH_EIGHT(mul_q8, 1);
}

void nnf_prelu_qu8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    EACH_EIGHT(prelu_q8, 0);
}

void nnf_prelu_qs8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    EACH_EIGHT(prelu_q8, 1);
}
