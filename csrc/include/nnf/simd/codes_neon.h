/* Names that all levels share: 8 codes of 8 bits as integers of 32; include only from NEON files. */
#ifndef NNF_SIMD_CODES_NEON_H
#define NNF_SIMD_CODES_NEON_H

#include <stdbool.h>

#include "nnf/partial_neon.h"
#include "nnf/requantize_neon.h"
#include "nnf/simd/f32_neon.h"

enum { CODES = 8, CODE_REGISTERS = 2 };

typedef struct {
    int32x4_t low, high;
} C;

static inline C codes_all(int32_t value) { return (C){vdupq_n_s32(value), vdupq_n_s32(value)}; }
static inline C codes_add(C a, C b) { return (C){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }

/* c + a b */
static inline C codes_mla(C c, C a, int32_t b)
{
    return (C){vmlaq_n_s32(c.low, a.low, b), vmlaq_n_s32(c.high, a.high, b)};
}

static inline C codes_between(int32_t lo, int32_t hi, C x)
{
    const int32x4_t least = vdupq_n_s32(lo), most = vdupq_n_s32(hi);
    return (C){vminq_s32(vmaxq_s32(x.low, least), most), vminq_s32(vmaxq_s32(x.high, least), most)};
}

/* x times multiplier * 2^exponent as nnf_mbqm. */
static inline C codes_scale(C x, int32_t multiplier, int32_t exponent)
{
    const int32x4_t factor = vdupq_n_s32(multiplier), left = vdupq_n_s32(exponent > 0 ? exponent : 0);
    const int32x4_t down = vdupq_n_s32(exponent > 0 ? 0 : exponent);
    return (C){nnf_mbqm_neon(x.low, factor, left, down), nnf_mbqm_neon(x.high, factor, left, down)};
}

/* The first `count` codes, or all, less their zero point. */
static inline C codes_load(size_t count, const uint8_t *x, bool is_signed, int32_t zero)
{
    const uint8x8_t bytes = nnf_load_u8_neon(x, count);
    const int16x8_t raw = is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
    const int16x8_t code = vsubq_s16(raw, vdupq_n_s16((int16_t)zero));
    return (C){vmovl_s16(vget_low_s16(code)), vmovl_high_s16(code)};
}

static inline C codes_load_whole(const uint8_t *x, bool is_signed, int32_t zero)
{
    return codes_load(CODES, x, is_signed, zero);
}

/* The low byte of each lane. */
static inline void codes_store(uint8_t *y, size_t count, C x)
{
    const int16x8_t code = vcombine_s16(vmovn_s32(x.low), vmovn_s32(x.high));
    nnf_store_u8_neon(y, vreinterpret_u8_s8(vmovn_s16(code)), count);
}

static inline void codes_store_whole(uint8_t *y, C x) { codes_store(y, CODES, x); }
/* Register `part` of the codes as floats. */
static inline V codes_float(C x, int part) { return vcvtq_f32_s32(part ? x.high : x.low); }
/* The whole part of floats, of as many registers as C has. */
static inline C codes_whole(const V *x) { return (C){vcvtq_s32_f32(x[0]), vcvtq_s32_f32(x[1])}; }
/* To the nearest whole number, ties away from zero. */
static inline C codes_nearest(const V *x) { return (C){vcvtaq_s32_f32(x[0]), vcvtaq_s32_f32(x[1])}; }

static inline int32x4_t codes_four(size_t count, const int32_t *x)
{
    return vreinterpretq_s32_u8(nnf_loadq_u8_neon((const uint8_t *)x, 4 * count));
}

static inline C codes_load_s32(size_t count, const int32_t *x)
{
    return (C){codes_four(count, x), count > 4 ? codes_four(count - 4, x + 4) : vdupq_n_s32(0)};
}

static inline void codes_store_s32(int32_t *y, C x)
{
    vst1q_s32(y, x.low);
    vst1q_s32(y + 4, x.high);
}

static inline C codes_mul(C a, C b) { return (C){vmulq_s32(a.low, b.low), vmulq_s32(a.high, b.high)}; }

static inline C codes_raise(C x, int bits)
{
    return (C){vshlq_s32(x.low, vdupq_n_s32(bits)), vshlq_s32(x.high, vdupq_n_s32(bits))};
}

static inline C codes_lower(C x, int bits) { return codes_raise(x, -bits); }

/* a < b ? -1 : 0 */
static inline C codes_below(C a, C b)
{
    return (C){vreinterpretq_s32_u32(vcltq_s32(a.low, b.low)), vreinterpretq_s32_u32(vcltq_s32(a.high, b.high))};
}

/* x < 0 ? yes : no */
static inline C codes_if_below(C x, C yes, C no)
{
    return (C){vbslq_s32(vcltzq_s32(x.low), yes.low, no.low), vbslq_s32(vcltzq_s32(x.high), yes.high, no.high)};
}

/* codes_scale with its own multiplier and shifts for each lane; one of the shifts is 0. */
static inline C codes_scale_each(C x, C multiplier, C left, C right)
{
    return (C){nnf_mbqm_neon(x.low, multiplier.low, left.low, vnegq_s32(right.low)),
               nnf_mbqm_neon(x.high, multiplier.high, left.high, vnegq_s32(right.high))};
}

/* x times multiplier * 2^-shift as nnf_mbqm, shift >= 0. */
static inline C codes_scale_down(C x, int32_t multiplier, int32_t shift)
{
    const int32x4_t by = vdupq_n_s32(multiplier), down = vdupq_n_s32(-shift);
    return (C){nnf_scale_neon(x.low, by, down), nnf_scale_neon(x.high, by, down)};
}

#endif
