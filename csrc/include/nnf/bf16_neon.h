/* nnf/bf16.h for vectors. Include only from files of levels with bfloat16 instructions. */
#ifndef NNF_BF16_NEON_H
#define NNF_BF16_NEON_H

#include <arm_neon.h>

/* The conversion keeps numbers below 2^-126, of which only the sign may stay. */
static inline uint16x8_t nnf_bf16_of_f32_neon(float32x4_t low, float32x4_t high)
{
    const uint16x8_t rounded = vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(low), high));
    const uint16x8_t top = vuzp2q_u16(vreinterpretq_u16_f32(low), vreinterpretq_u16_f32(high));
    const uint16x8_t normal = vtstq_u16(top, vdupq_n_u16(0x7f80));
    return vandq_u16(rounded, vorrq_u16(normal, vdupq_n_u16(0x8000)));
}

#endif
