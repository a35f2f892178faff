#include "depthwise_conv2d.h"

#include <stdbool.h>
#include <string.h>

#include "nnf/partial_neon.h"
#include "nnf/requantize_neon.h"
#include "nnf/unroll.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES 16
#define PIXELS 4

/* One block of output channels. */
typedef struct block {
    const uint8_t *x;    /* first channel of the block, first pixel of the image */
    const int32_t *rows; /* the packed block */
    size_t channels;     /* those that exist */
    uintptr_t limit;     /* behind the image */
    uint8x16_t flip, lo, hi;
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
        return veorq_u8(vld1q_u8(at), b->flip);
    const size_t more = b->channels > 8 ? b->channels - 8 : 0;
    return veorq_u8(vcombine_u8(nnf_load_u8_neon(at, b->channels), nnf_load_u8_neon(at + 8, more)), b->flip);
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
    return veorq_u8(vminq_u8(vmaxq_u8(code, b->lo), b->hi), b->flip);
}

/* `count` neighbouring outputs, beginning at column o. */
INLINE void tile(const nnf_depthwise_q8 *p, const block *b, const int count, bool full, bool border, size_t y0,
                 size_t o, uint8_t *y)
{
    const uint8_t *start =
        border ? NULL : b->x + (y0 * p->g.x.size + o * p->g.x.stride - p->g.x.head) * p->g.channels;
    const size_t step = p->g.x.stride * p->g.channels;
    const int16_t *w = (const int16_t *)(b->rows + NNF_DEPTHWISE_ROWS * LANES);
    int32x4_t sum[PIXELS][4];
    NNF_UNROLL
    for (int i = 0; i < count; i++) {
        NNF_UNROLL
        for (int v = 0; v < 4; v++)
            sum[i][v] = row_of(b->rows + 4 * v, NNF_DEPTHWISE_FOLDED);
    }
    const nnf_depthwise_tap *tap = p->taps;
    for (size_t g = 0; g < p->groups; g++, w += 2 * LANES) {
        /* A row holds the weights of two taps side by side. */
        const int16x8x2_t low = vld2q_s16(w), high = vld2q_s16(w + LANES);
        NNF_UNROLL
        for (int t = 0; t < 2; t++, tap++) {
            NNF_UNROLL
            for (int i = 0; i < count; i++) {
                const uint8x16_t bytes = load(b, full, border ? tap_at(p, b, tap, y0, o + (size_t)i)
                                                              : start + tap->offset + (size_t)i * step);
                const int16x8_t first = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
                const int16x8_t second = vreinterpretq_s16_u16(vmovl_high_u8(bytes));
                sum[i][0] = vmlal_s16(sum[i][0], vget_low_s16(first), vget_low_s16(low.val[t]));
                sum[i][1] = vmlal_high_s16(sum[i][1], first, low.val[t]);
                sum[i][2] = vmlal_s16(sum[i][2], vget_low_s16(second), vget_low_s16(high.val[t]));
                sum[i][3] = vmlal_high_s16(sum[i][3], second, high.val[t]);
            }
        }
    }
    NNF_UNROLL
    for (int v = 0; v < 4; v++)
        scale(p, count, v, b->rows + 4 * v, sum);
    NNF_UNROLL
    for (int i = 0; i < count; i++) {
        uint8_t *target = y + (o + (size_t)i) * p->g.channels;
        if (full)
            vst1q_u8(target, codes(b, sum[i]));
        else
            nnf_storeq_u8_neon(target, codes(b, sum[i]), b->channels);
    }
}

/* One output row of a block. */
INLINE void block_row(const nnf_depthwise_q8 *p, const block *b, bool full, size_t row, uint8_t *y)
{
    const size_t y0 = row * p->g.y.stride - p->g.y.head;
    size_t top, bottom, inner, outer, o = 0;
    nnf_axis_taps(&p->g.y, row, &top, &bottom);
    nnf_axis_full(&p->g.x, &inner, &outer);
    if (top > 0 || bottom < p->g.y.taps)
        inner = outer = 0;
    for (; o < inner; o++)
        tile(p, b, 1, full, true, y0, o, y);
    for (; o + PIXELS <= outer; o += PIXELS)
        tile(p, b, PIXELS, full, false, y0, o, y);
    for (; o < p->g.x.out; o++)
        tile(p, b, 1, full, true, y0, o, y);
}

static void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, int flip)
{
    const size_t rows = NNF_DEPTHWISE_ROWS + p->groups;
    block b = {.limit = (uintptr_t)x + p->g.y.size * p->g.x.size * p->g.channels, .flip = vdupq_n_u8((uint8_t)flip),
               .lo = vdupq_n_u8((uint8_t)p->lo), .hi = vdupq_n_u8((uint8_t)p->hi),
               .out_zero = vdupq_n_s16((int16_t)p->out_zero)};
    memset(b.zero, p->in_zero ^ flip, sizeof b.zero);
    for (size_t row = first; row < last; row++, y += p->g.x.out * p->g.channels) {
        for (size_t c = begin; c < end; c += LANES) {
            b.x = x + c;
            b.rows = p->blocks + c * rows;
            b.channels = end - c < LANES ? end - c : LANES;
            if (b.channels == LANES)
                block_row(p, &b, true, row, y + c);
            else
                block_row(p, &b, false, row, y + c);
        }
    }
}

void nnf_depthwise_conv2d_qu8_nhwc__neon_4x16k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, 0);
}

void nnf_depthwise_conv2d_qs8_nhwc__neon_4x16k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, 128);
}
