/* What the 8-bit depthwise kernels of NEON share. Include only from NEON files. */
#ifndef NNF_DEPTHWISE_CONV2D_Q8_NEON_H
#define NNF_DEPTHWISE_CONV2D_Q8_NEON_H

#include <stdbool.h>
#include <string.h>

#include "depthwise_conv2d.h"
#include "nnf/partial_neon.h"
#include "nnf/requantize_neon.h"
#include "nnf/unroll.h"

enum { LANES = 16, PIXELS = 4 };

/* One block of output channels. */
typedef struct block {
    const uint8_t *x;    /* first channel of the block, first pixel of the image */
    const int32_t *rows; /* the packed block */
    size_t channels;     /* those that exist */
    uintptr_t limit;     /* behind the image */
    uint8x16_t flip_out, lo, hi;
    int16x8_t out_zero;
    uint8_t zero[LANES]; /* stands for positions outside of the image */
} block;

/* Which taps of a tile may lie outside of the image: none, those of some rows, any. */
enum { INSIDE, ROWS, ANYWHERE };

/* Tiles of an output row: those of PIXELS outputs whose columns all lie inside are in inner..outer-1, where there are any
 * (inner < outer); `outside` is INSIDE or ROWS for them. y0: first row of the window, in the image. */
typedef struct line {
    size_t y0, inner, outer;
    int outside;
} line;

INLINE line line_of(const nnf_depthwise_q8 *p, size_t row)
{
    line l = {.y0 = row * p->g.y.stride - p->g.y.head};
    size_t top, bottom;
    nnf_axis_taps(&p->g.y, row, &top, &bottom);
    nnf_axis_full(&p->g.x, &l.inner, &l.outer);
    l.outside = top > 0 || bottom < p->g.y.taps ? ROWS : INSIDE;
    if (l.outer - l.inner < PIXELS)
        l.outer = l.inner;
    return l;
}

/* Whether a tile of PIXELS outputs comes next: then it begins at *o, which may go back to outputs that are done, so that
 * the last columns inside are no tiles of their own. */
INLINE bool inside_next(const line *l, size_t *o)
{
    if (*o < l->inner || *o >= l->outer)
        return false;
    if (*o + PIXELS > l->outer)
        *o = l->outer - PIXELS;
    return true;
}

/* Where the window of column o begins; outside of the image that is no address. */
INLINE uintptr_t start_of(const nnf_depthwise_q8 *p, const block *b, size_t y0, size_t o)
{
    return (uintptr_t)b->x + (y0 * p->g.x.size + o * p->g.x.stride - p->g.x.head) * p->g.channels;
}

/* A tap of the output in column o, whose window begins at `start`. */
INLINE const uint8_t *tap_at(const nnf_depthwise_q8 *p, const block *b, const int outside, const nnf_depthwise_tap *tap,
                             uintptr_t start, size_t y0, size_t o)
{
    const bool above = outside != INSIDE && y0 + (size_t)tap->down >= p->g.y.size;
    const bool beside =
        outside == ANYWHERE && o * p->g.x.stride - p->g.x.head + (size_t)tap->across >= p->g.x.size;
    return above | beside ? b->zero : (const uint8_t *)(start + (uintptr_t)tap->offset);
}

/* Lanes of channels that do not exist may hold anything. flips: the kernel takes other codes than those in memory. */
INLINE uint8x16_t load(const block *b, bool full, const bool flips, const uint8_t *at)
{
    uint8x16_t bytes;
    if (full || (uintptr_t)at + LANES <= b->limit || at == b->zero)
        bytes = vld1q_u8(at);
    else
        bytes = nnf_loadq_u8_neon(at, b->channels);
    return flips ? veorq_u8(bytes, vdupq_n_u8(0x80)) : bytes;
}

INLINE int32x4_t row_of(const int32_t *rows, int row)
{
    return vld1q_s32(rows + row * LANES);
}

/* Where sums begin, from the row FOLDED: that of small sums lies 2^31 higher. */
INLINE int32x4_t folded(const nnf_depthwise_q8 *p, const int32_t *rows)
{
    return veorq_s32(row_of(rows, NNF_DEPTHWISE_FOLDED), vdupq_n_s32(p->small ? INT32_MIN : 0));
}

/* Scales four sums of each pixel; the pixels share what is loaded. */
INLINE void scale(const nnf_depthwise_q8 *p, const int count, const int v, const int32_t *rows, int32x4_t sum[][4])
{
    const int32x4_t down = vnegq_s32(row_of(rows, NNF_DEPTHWISE_RIGHT));
    if (p->small) {
        /* Twice the multipliers, of even and of odd lanes. */
        const int32x4_t twice = vtrn1q_s32(row_of(rows, NNF_DEPTHWISE_DOUBLE), row_of(rows, NNF_DEPTHWISE_DOUBLE_ODD));
        const int32x4_t multiplier = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(twice), 1));
        NNF_UNROLL
        for (int i = 0; i < count; i++)
            sum[i][v] = nnf_scale_down_neon(sum[i][v], multiplier, down);
    } else {
        const int32x4_t multiplier = row_of(rows, NNF_DEPTHWISE_MULTIPLIER), left = row_of(rows, NNF_DEPTHWISE_LEFT);
        NNF_UNROLL
        for (int i = 0; i < count; i++)
            sum[i][v] = nnf_mbqm_neon(sum[i][v], multiplier, left, down);
    }
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

/* The block without channels; flip is 128 for signed codes. */
INLINE block block_of(const nnf_depthwise_q8 *p, const uint8_t *x, uint8_t flip)
{
    block b = {.limit = (uintptr_t)x + p->g.y.size * p->g.x.size * p->g.channels, .flip_out = vdupq_n_u8(flip),
               .lo = vdupq_n_u8((uint8_t)p->lo), .hi = vdupq_n_u8((uint8_t)p->hi),
               .out_zero = vdupq_n_s16((int16_t)p->out_zero)};
    memset(b.zero, p->in_zero ^ flip, sizeof b.zero);
    return b;
}

#endif
