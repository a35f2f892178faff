/* The multiplication by a quantized multiplier on 4 lanes; equal to nnf_mbqm bit for bit. Include only from NEON
 * files. */
#ifndef NNF_REQUANTIZE_NEON_H
#define NNF_REQUANTIZE_NEON_H

#include <arm_neon.h>

/* Lanes of x times multiplier * 2^down, -31 <= down <= 0. No multiplier is INT32_MIN, so that the saturating case of
 * the high multiply cannot occur. */
static inline int32x4_t nnf_scale_neon(int32x4_t x, int32x4_t multiplier, int32x4_t down)
{
    x = vqrdmulhq_s32(x, multiplier);
    /* The shift rounds ties up: less 1 for a negative x, where there is a shift, they go away from zero. The product
     * is above INT32_MIN, so that this cannot wrap. */
    x = vsraq_n_s32(x, vandq_s32(x, down), 31);
    return vrshlq_s32(x, down);
}

/* The same where every down < 0. */
static inline int32x4_t nnf_scale_down_neon(int32x4_t x, int32x4_t multiplier, int32x4_t down)
{
    x = vqrdmulhq_s32(x, multiplier);
    return vrshlq_s32(vsraq_n_s32(x, x, 31), down);
}

/* Lanes of x times multiplier * 2^(left + down); left >= 0, down <= 0 and one of them is 0. */
static inline int32x4_t nnf_mbqm_neon(int32x4_t x, int32x4_t multiplier, int32x4_t left, int32x4_t down)
{
    return nnf_scale_neon(vshlq_s32(x, left), multiplier, down);
}

#endif
