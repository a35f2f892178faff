#include "depthwise_conv2d_q8_neon.h"

#define PIXELS 4

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
    for (int i = 0; i < count; i++)
        store(b, full, y + (o + (size_t)i) * p->g.channels, sum[i]);
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
               uint8_t *y, uint8_t flip)
{
    const size_t rows = NNF_DEPTHWISE_ROWS + p->groups;
    block b = block_of(p, x, flip, 0);
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
