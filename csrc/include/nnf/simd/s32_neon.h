/* Names that all levels share: 4 integers of 32 bits, which wrap; include only from NEON files. */
#ifndef NNF_SIMD_S32_NEON_H
#define NNF_SIMD_S32_NEON_H

#include "nnf/simd/f32_neon.h"

typedef int32x4_t S;
typedef uint32x4_t P; /* lanes of which something holds */

static inline S s32_all(int32_t value) { return vdupq_n_s32(value); }
static inline S s32_load_whole(const int32_t *x) { return vld1q_s32(x); }
static inline void s32_store_whole(int32_t *y, S value) { vst1q_s32(y, value); }

/* Of first lanes only. */
static inline S s32_load(M live, const int32_t *x)
{
    return vreinterpretq_s32_u8(nnf_loadq_u8_neon((const uint8_t *)x, 4 * live.to));
}

static inline void s32_store(int32_t *y, M live, S value)
{
    nnf_storeq_u8_neon((uint8_t *)y, vreinterpretq_u8_s32(value), 4 * live.to);
}

/* Words of 16 bits; what is stored must be one. */
static inline S s32_load_s16(const void *x) { return vmovl_s16(vreinterpret_s16_u8(vld1_u8(x))); }
static inline void s32_store_s16(void *y, S value) { vst1_u8(y, vreinterpret_u8_s16(vmovn_s32(value))); }

static inline S s32_add(S a, S b) { return vaddq_s32(a, b); }
static inline S s32_sub(S a, S b) { return vsubq_s32(a, b); }
static inline S s32_mul(S a, S b) { return vmulq_s32(a, b); }
static inline S s32_max(S a, S b) { return vmaxq_s32(a, b); }
static inline S s32_min(S a, S b) { return vminq_s32(a, b); }
static inline S s32_xor(S a, S b) { return veorq_s32(a, b); }
static inline S s32_bits(V x) { return vreinterpretq_s32_f32(x); }
static inline V s32_floats(S x) { return vreinterpretq_f32_s32(x); }

/* The bits of floats as integers of the same order. */
static inline S s32_order(S x)
{
    return s32_xor(x, vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(vshrq_n_s32(x, 31)), 1)));
}

/* The first `count` bytes, at most as many as there are lanes. */
static inline S s32_from_u8(size_t count, const uint8_t *x)
{
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(nnf_load_bytes(x, count))))));
}

static inline P s32_live(M live) { return lane_mask(live); }
static inline P s32_both(P a, P b) { return vandq_u32(a, b); }
static inline P s32_equal(S a, S b) { return vceqq_s32(a, b); }
static inline P s32_greater(S a, S b) { return vcgtq_s32(a, b); }
static inline P s32_is_number(V x) { return vceqq_f32(x, x); }
static inline P s32_equal_floats(V a, V b) { return vceqq_f32(a, b); }
static inline P s32_greater_floats(V a, V b) { return vcgtq_f32(a, b); }
static inline P s32_at_least_floats(V a, V b) { return vcgeq_f32(a, b); }
static inline S s32_choose(P p, S yes, S no) { return vbslq_s32(p, yes, no); }

/* The first lane of p, or -1. */
static inline int s32_place(P p)
{
    static const uint32_t number[LANES] = {0, 1, 2, 3};
    return (int)vminvq_u32(vbslq_u32(p, vld1q_u32(number), vdupq_n_u32(UINT32_MAX)));
}

/* The largest lane, in all. */
static inline S s32_most(S x) { return s32_all(vmaxvq_s32(x)); }

static inline V s32_values(S x) { return vcvtq_f32_s32(x); }
static inline S s32_cut(V x) { return vcvtq_s32_f32(x); }

#endif
