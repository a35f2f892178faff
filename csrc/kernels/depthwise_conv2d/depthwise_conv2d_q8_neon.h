/* What the 8-bit depthwise kernels of NEON share. Include only from NEON files. */
#ifndef NNF_DEPTHWISE_CONV2D_Q8_NEON_H
#define NNF_DEPTHWISE_CONV2D_Q8_NEON_H

#include <stdbool.h>
#include <string.h>

#include "depthwise_conv2d.h"
#include "nnf/partial_neon.h"
#include "nnf/requantize_neon.h"
#include "nnf/unroll.h"

#define LANES 16

/* One block of output channels. */
typedef struct block {
    const uint8_t *x;    /* first channel of the block, first pixel of the image */
    const int32_t *rows; /* the packed block */
    size_t channels;     /* those that exist */
    uintptr_t limit;     /* behind the image */
    uint8x16_t flip_in, flip_out, lo, hi;
    int16x8_t out_zero;
    uint8_t zero[LANES]; /* stands for positions outside of the image */
} block;

/* Address of a tap of the output in row y0 (of the window, in the image) and column `o`. */
INLINE const uint8_t *tap_at(const nnf_depthwise_q8 *p, const block *b, const nnf_depthwise_tap *tap, size_t y0,
                             size_t o)
{
    const size_t y = y0 + (size_t)tap->down, x = o * p->g.x.stride + (size_t)tap->across - p->g.x.head;
    if (y >= p->g.y.size || x >= p->g.x.size)
        return b->zero;
    return b->x + (y * p->g.x.size + x) * p->g.channels;
}

/* Lanes of channels that do not exist may hold anything. */
INLINE uint8x16_t load(const block *b, bool full, const uint8_t *at)
{
    if (full || (uintptr_t)at + LANES <= b->limit || at == b->zero)
        return veorq_u8(vld1q_u8(at), b->flip_in);
    const size_t more = b->channels > 8 ? b->channels - 8 : 0;
    return veorq_u8(vcombine_u8(nnf_load_u8_neon(at, b->channels), nnf_load_u8_neon(at + 8, more)), b->flip_in);
}

INLINE int32x4_t row_of(const int32_t *rows, int row)
{
    return vld1q_s32(rows + row * LANES);
}

/* Scales four sums of each pixel; the pixels share what is loaded. */
INLINE void scale(const nnf_depthwise_q8 *p, const int count, const int v, const int32_t *rows, int32x4_t sum[][4])
{
    const int32x4_t down = vnegq_s32(row_of(rows, NNF_DEPTHWISE_RIGHT));
    int32x4_t multiplier, left = vdupq_n_s32(0);
    if (p->small) {
        /* Rows of the small form: twice the multipliers of even and odd lanes; sums lie 2^31 higher. */
        const int32x4_t twice = vtrn1q_s32(row_of(rows, NNF_DEPTHWISE_DOUBLE), row_of(rows, NNF_DEPTHWISE_DOUBLE_ODD));
        multiplier = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(twice), 1));
        NNF_UNROLL
        for (int i = 0; i < count; i++)
            sum[i][v] = veorq_s32(sum[i][v], vdupq_n_s32(INT32_MIN));
    } else {
        multiplier = row_of(rows, NNF_DEPTHWISE_MULTIPLIER);
        left = row_of(rows, NNF_DEPTHWISE_LEFT);
    }
    NNF_UNROLL
    for (int i = 0; i < count; i++)
        sum[i][v] = nnf_mbqm_neon(sum[i][v], multiplier, left, down);
}

/* Codes of 16 scaled sums; saturation to 16 and 8 bits does not disturb a clamp that lies within 0..255. */
INLINE uint8x16_t codes(const block *b, const int32x4_t x[4])
{
    const int16x8_t low = vqaddq_s16(vcombine_s16(vqmovn_s32(x[0]), vqmovn_s32(x[1])), b->out_zero);
    const int16x8_t high = vqaddq_s16(vcombine_s16(vqmovn_s32(x[2]), vqmovn_s32(x[3])), b->out_zero);
    const uint8x16_t code = vcombine_u8(vqmovun_s16(low), vqmovun_s16(high));
    return veorq_u8(vminq_u8(vmaxq_u8(code, b->lo), b->hi), b->flip_out);
}

INLINE void store(const block *b, bool full, uint8_t *y, const int32x4_t x[4])
{
    if (full)
        vst1q_u8(y, codes(b, x));
    else
        nnf_storeq_u8_neon(y, codes(b, x), b->channels);
}

/* The block without channels; flip is 128 for signed codes, more the bits that the kernel wants flipped. */
INLINE block block_of(const nnf_depthwise_q8 *p, const uint8_t *x, uint8_t flip, uint8_t more)
{
    block b = {.limit = (uintptr_t)x + p->g.y.size * p->g.x.size * p->g.channels, .flip_in = vdupq_n_u8(flip ^ more),
               .flip_out = vdupq_n_u8(flip), .lo = vdupq_n_u8((uint8_t)p->lo), .hi = vdupq_n_u8((uint8_t)p->hi),
               .out_zero = vdupq_n_s16((int16_t)p->out_zero)};
    memset(b.zero, p->in_zero ^ flip, sizeof b.zero);
    return b;
}

#endif
