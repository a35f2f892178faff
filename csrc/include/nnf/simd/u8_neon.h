/* Names that all levels share: 16 bytes; include only from NEON files. */
#ifndef NNF_SIMD_U8_NEON_H
#define NNF_SIMD_U8_NEON_H

#include "nnf/partial_neon.h"

enum { BYTES = 16 };

typedef uint8x16_t B;

static inline B u8_all(uint8_t value) { return vdupq_n_u8(value); }
static inline B u8_load_whole(const uint8_t *x) { return vld1q_u8(x); }
static inline void u8_store_whole(uint8_t *y, B value) { vst1q_u8(y, value); }
/* The first `count` bytes and zeros behind them. */
static inline B u8_load(size_t count, const uint8_t *x) { return nnf_loadq_u8_neon(x, count); }
static inline void u8_store(uint8_t *y, size_t count, B value) { nnf_storeq_u8_neon(y, value, count); }
static inline B u8_max(B a, B b) { return vmaxq_u8(a, b); }
static inline B u8_min(B a, B b) { return vminq_u8(a, b); }
static inline B u8_or(B a, B b) { return vorrq_u8(a, b); }

static inline B u8_max_signed(B a, B b)
{
    return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}

static inline B u8_min_signed(B a, B b)
{
    return vreinterpretq_u8_s8(vminq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}

static inline B u8_xor(B a, B b) { return veorq_u8(a, b); }

/* The first `count` bytes, fewer than all, and those of `others` behind them. */
static inline B u8_load_or(B others, size_t count, const uint8_t *x)
{
    uint8_t copy[BYTES];
    u8_store_whole(copy, others);
    memcpy(copy, x, count);
    return u8_load_whole(copy);
}

/* 1 where the relation holds, else 0. */
static inline B u8_equal(B a, B b) { return vandq_u8(vceqq_u8(a, b), u8_all(1)); }
static inline B u8_not_equal(B a, B b) { return vbicq_u8(u8_all(1), vceqq_u8(a, b)); }
static inline B u8_less(B a, B b) { return vandq_u8(vcltq_u8(a, b), u8_all(1)); }
static inline B u8_less_equal(B a, B b) { return vandq_u8(vcleq_u8(a, b), u8_all(1)); }

typedef uint32x4_t U; /* sums of bytes, below 2^32 each */

static inline U u8_sum_none(void) { return vdupq_n_u32(0); }
static inline U u8_sum(U sum, B x) { return vpadalq_u16(sum, vpaddlq_u8(x)); }
static inline int64_t u8_sum_total(U sum) { return (int64_t)vaddlvq_u32(sum); }
/* The smallest byte. */
static inline uint8_t u8_least(B x) { return vminvq_u8(x); }

/* Sums of 16 bits, and QUARTERS of them in 32. */
enum { QUARTERS = 4 };

typedef struct {
    uint16x8_t low, high;
} H;

static inline H u8_short_none(void) { return (H){vdupq_n_u16(0), vdupq_n_u16(0)}; }
static inline H u8_short_sum(H sum, B x) { return (H){vaddw_u8(sum.low, vget_low_u8(x)), vaddw_high_u8(sum.high, x)}; }

static inline int32x4_t u8_four(int32x4_t sum, uint16x4_t x)
{
    return vreinterpretq_s32_u32(vaddw_u16(vreinterpretq_u32_s32(sum), x));
}

static inline void u8_long_sum(int32x4_t *sum, H x)
{
    sum[0] = u8_four(sum[0], vget_low_u16(x.low));
    sum[1] = u8_four(sum[1], vget_high_u16(x.low));
    sum[2] = u8_four(sum[2], vget_low_u16(x.high));
    sum[3] = u8_four(sum[3], vget_high_u16(x.high));
}

/* Of numbers between 0 and 255. */
static inline B u8_of_s32(const int32x4_t *x)
{
    const int16x8_t low = vcombine_s16(vmovn_s32(x[0]), vmovn_s32(x[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(x[2]), vmovn_s32(x[3]));
    return vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}

#endif
