/* Names that all levels share: 4 integers of 32 bits, which wrap; include only from NEON files. */
#ifndef NNF_SIMD_S32_NEON_H
#define NNF_SIMD_S32_NEON_H

#include "nnf/simd/f32_neon.h"

typedef int32x4_t S;

static inline S s32_all(int32_t value)
{
    return vdupq_n_s32(value);
}

static inline S s32_load_whole(const int32_t *x)
{
    return vld1q_s32(x);
}

static inline void s32_store_whole(int32_t *y, S value)
{
    vst1q_s32(y, value);
}

/* Of first lanes only. */
static inline S s32_load(M live, const int32_t *x)
{
    return vreinterpretq_s32_u8(nnf_loadq_u8_neon((const uint8_t *)x, 4 * live.to));
}

static inline void s32_store(int32_t *y, M live, S value)
{
    nnf_storeq_u8_neon((uint8_t *)y, vreinterpretq_u8_s32(value), 4 * live.to);
}

static inline S s32_add(S a, S b)
{
    return vaddq_s32(a, b);
}

static inline S s32_sub(S a, S b)
{
    return vsubq_s32(a, b);
}

static inline S s32_mul(S a, S b)
{
    return vmulq_s32(a, b);
}

static inline S s32_max(S a, S b)
{
    return vmaxq_s32(a, b);
}

static inline S s32_min(S a, S b)
{
    return vminq_s32(a, b);
}

#endif
