#include "depthwise_conv2d_q8_neon.h"

/* `count` neighbouring outputs, beginning at column o. */
INLINE void tile(const nnf_depthwise_q8 *p, const block *b, const int count, bool full, const bool flips,
                 const int outside, const int32x4_t begin[4], size_t y0, size_t o, uint8_t *y)
{
    const uintptr_t start = start_of(p, b, y0, o);
    const size_t step = p->g.x.stride * p->g.channels;
    const int16_t *w = (const int16_t *)(b->rows + NNF_DEPTHWISE_ROWS * LANES);
    int32x4_t sum[PIXELS][4];
    NNF_UNROLL
    for (int i = 0; i < count; i++) {
        NNF_UNROLL
        for (int v = 0; v < 4; v++)
            sum[i][v] = begin[v];
    }
    const nnf_depthwise_tap *tap = p->taps;
    for (size_t g = 0; g < p->groups; g++, w += 2 * LANES) {
        /* A row holds the weights of two taps side by side. */
        const int16x8x2_t low = vld2q_s16(w), high = vld2q_s16(w + LANES);
        NNF_UNROLL
        for (int t = 0; t < 2; t++, tap++) {
            NNF_UNROLL
            for (int i = 0; i < count; i++) {
                const uint8_t *at = tap_at(p, b, outside, tap, start + (size_t)i * step, y0, o + (size_t)i);
                const uint8x16_t bytes = load(b, full, flips, at);
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
    const size_t channels = p->g.channels;
    y += o * channels;
    NNF_UNROLL
    for (int i = 0; i < count; i++, y += channels)
        store(b, full, y, sum[i]);
}

/* One output row of a block. */
INLINE void block_row(const nnf_depthwise_q8 *p, const block *b, bool full, const bool flips, size_t row, uint8_t *y)
{
    const line l = line_of(p, row);
    int32x4_t begin[4];
    NNF_UNROLL
    for (int v = 0; v < 4; v++)
        begin[v] = folded(p, b->rows + 4 * v);
    for (size_t o = 0; o < p->g.x.out;) {
        if (!inside_next(&l, &o)) {
            tile(p, b, 1, full, flips, ANYWHERE, begin, l.y0, o++, y);
            continue;
        }
        if (l.outside == INSIDE)
            tile(p, b, PIXELS, full, flips, INSIDE, begin, l.y0, o, y);
        else
            tile(p, b, PIXELS, full, flips, ROWS, begin, l.y0, o, y);
        o += PIXELS;
    }
}

/* The products take codes from the lowest one on. */
INLINE void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, const bool is_signed)
{
    const size_t rows = NNF_DEPTHWISE_ROWS + p->groups;
    block b = block_of(p, x, is_signed ? 128 : 0);
    for (size_t row = first; row < last; row++, y += p->g.x.out * p->g.channels) {
        for (size_t c = begin; c < end; c += LANES) {
            b.x = x + c;
            b.rows = p->blocks + c * rows;
            b.channels = end - c < LANES ? end - c : LANES;
            if (b.channels == LANES)
                block_row(p, &b, true, is_signed, row, y + c);
            else
                block_row(p, &b, false, is_signed, row, y + c);
        }
    }
}

void nnf_depthwise_conv2d_qu8_nhwc__neon_4x16k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, false);
}

void nnf_depthwise_conv2d_qs8_nhwc__neon_4x16k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, true);
}
