#include "svdf.h"

#include "nnf/simd/codes_neon.h"
#include "nnf/unroll.h"
#define KERNEL(op) op##__neon_8

typedef int16x8_t W; /* 8 words of 16 bits */
typedef int32x4_t D; /* 4 sums of 32 bits, which wrap */

/* Codes of `item` bytes. */
INLINE W words_load(const int item, const void *x)
{
    return item == 1 ? vmovl_s8(vld1_s8(x)) : vreinterpretq_s16_u8(vld1q_u8(x));
}

INLINE void words_store(const int item, void *y, W x)
{
    if (item == 1)
        vst1_s8(y, vmovn_s16(x));
    else
        vst1q_u8(y, vreinterpretq_u8_s16(x));
}

INLINE W words_all(int32_t value) { return vdupq_n_s16((int16_t)value); }
INLINE W words_sub(W a, W b) { return vsubq_s16(a, b); }
INLINE W words_and(W a, W b) { return vandq_s16(a, b); }
/* Without the first word, and with a new last one. */
INLINE W words_next(W x, int32_t last) { return vextq_s16(x, vdupq_n_s16((int16_t)last), 1); }
INLINE D sums_none(void) { return vdupq_n_s32(0); }
INLINE D sums_mla(D sum, W a, W b)
{
    return vmlal_high_s16(vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b)), a, b);
}

/* The sums of neighbours in a, then in b. */
INLINE D sums_near(D a, D b) { return vpaddq_s32(a, b); }
INLINE C sums_both(D low, D high) { return (C){low, high}; }

#include "svdf/svdf_q8_simd.h"
