#include "depthwise_conv2d_q8_neon.h"

/* The four taps of a group side by side for each channel. */
INLINE void gather(const nnf_depthwise_q8 *p, const block *b, bool full, const bool flips, const int outside,
                   const nnf_depthwise_tap *tap, uintptr_t start, size_t y0, size_t o, int8x16_t x[4])
{
    uint8x16_t bytes[4];
    NNF_UNROLL
    for (int t = 0; t < 4; t++)
        bytes[t] = load(b, full, flips, tap_at(p, b, outside, tap + t, start, y0, o));
    const uint16x8_t a = vreinterpretq_u16_u8(vzip1q_u8(bytes[0], bytes[1]));
    const uint16x8_t c = vreinterpretq_u16_u8(vzip2q_u8(bytes[0], bytes[1]));
    const uint16x8_t d = vreinterpretq_u16_u8(vzip1q_u8(bytes[2], bytes[3]));
    const uint16x8_t e = vreinterpretq_u16_u8(vzip2q_u8(bytes[2], bytes[3]));
    x[0] = vreinterpretq_s8_u16(vzip1q_u16(a, d));
    x[1] = vreinterpretq_s8_u16(vzip2q_u16(a, d));
    x[2] = vreinterpretq_s8_u16(vzip1q_u16(c, e));
    x[3] = vreinterpretq_s8_u16(vzip2q_u16(c, e));
}

/* Sums begin here: the dot product takes signed bytes only, codes less 128, which 128 times the weights make up for. */
INLINE void starts(const nnf_depthwise_q8 *p, const int32_t *rows, int32x4_t sum[4])
{
    const int8x16_t ones = vdupq_n_s8(1);
    const int8_t *w = (const int8_t *)(rows + NNF_DEPTHWISE_ROWS * LANES);
    NNF_UNROLL
    for (int v = 0; v < 4; v++)
        sum[v] = vdupq_n_s32(0);
    for (size_t g = 0; g < p->groups; g++, w += 4 * LANES * p->parts * p->outputs) {
        for (size_t part = 0; part < p->parts; part++) { /* of the first output: all have the same weights */
            NNF_UNROLL
            for (int v = 0; v < 4; v++)
                sum[v] = vdotq_s32(sum[v], ones, vld1q_s8(w + 4 * LANES * part + 16 * v));
        }
    }
    NNF_UNROLL
    for (int v = 0; v < 4; v++)
        sum[v] = vaddq_s32(folded(p, rows + 4 * v), vshlq_n_s32(sum[v], 7));
}

/* Adds the products of a group: those of x[i] to sum[i * outputs]. */
INLINE void multiply(const int8_t *w, const int count, int8x16_t x[][4], int32x4_t sum[][4], const int outputs)
{
    NNF_UNROLL
    for (int v = 0; v < 4; v++) {
        const int8x16_t weights = vld1q_s8(w + 16 * v);
        NNF_UNROLL
        for (int i = 0; i < count; i++)
            sum[i * outputs][v] = vdotq_s32(sum[i * outputs][v], x[i][v], weights);
    }
}

/* `count` groups of `outputs` neighbouring outputs, beginning at column o; those that exist are stored. */
INLINE void tile(const nnf_depthwise_q8 *p, const block *b, const int count, const int outputs, bool full,
                 const bool flips, const int outside, const int32x4_t begin[4], size_t y0, size_t o, uint8_t *y)
{
    const uintptr_t start = start_of(p, b, y0, o);
    const size_t step = (size_t)outputs * p->g.x.stride * p->g.channels;
    const int8_t *w = (const int8_t *)(b->rows + NNF_DEPTHWISE_ROWS * LANES);
    int32x4_t sum[PIXELS][4];
    NNF_UNROLL
    for (int i = 0; i < count * outputs; i++) {
        NNF_UNROLL
        for (int v = 0; v < 4; v++)
            sum[i][v] = begin[v];
    }
    for (size_t g = 0; g < p->groups; g++) {
        int8x16_t x[PIXELS][4];
        NNF_UNROLL
        for (int i = 0; i < count; i++)
            gather(p, b, full, flips, outside, p->taps + 4 * g, start + (size_t)i * step, y0, o, x[i]);
        NNF_UNROLL
        for (int s = 0; s < outputs; s++) {
            multiply(w, count, x, sum + s, outputs);
            w += 4 * LANES;
            for (size_t part = 1; part < p->parts; part++, w += 4 * LANES) /* seldom any */
                multiply(w, count, x, sum + s, outputs);
        }
    }
    NNF_UNROLL
    for (int v = 0; v < 4; v++)
        scale(p, count * outputs, v, b->rows + 4 * v, sum);
    const size_t channels = p->g.channels;
    y += o * channels;
    NNF_UNROLL
    for (int i = 0; i < count * outputs; i++, y += channels) {
        if (outside != ANYWHERE || o + (size_t)i < p->g.x.out)
            store(b, full, y, sum[i]);
    }
}

/* One output row of a block. */
INLINE void block_row(const nnf_depthwise_q8 *p, const block *b, const int outputs, bool full, const bool flips,
                      size_t row, uint8_t *y)
{
    const line l = line_of(p, row);
    int32x4_t begin[4];
    starts(p, b->rows, begin);
    for (size_t o = 0; o < p->g.x.out;) {
        if (!inside_next(&l, &o)) {
            tile(p, b, 1, outputs, full, flips, ANYWHERE, begin, l.y0, o, y);
            o += (size_t)outputs;
            continue;
        }
        if (l.outside == INSIDE)
            tile(p, b, PIXELS / outputs, outputs, full, flips, INSIDE, begin, l.y0, o, y);
        else
            tile(p, b, PIXELS / outputs, outputs, full, flips, ROWS, begin, l.y0, o, y);
        o += PIXELS;
    }
}

/* The dot product takes signed bytes only: signed codes as they are, unsigned ones less 128. */
INLINE void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, const bool is_signed)
{
    const size_t rows = NNF_DEPTHWISE_ROWS + p->groups * p->parts * p->outputs;
    block b = block_of(p, x, is_signed ? 128 : 0);
    for (size_t row = first; row < last; row++, y += p->g.x.out * p->g.channels) {
        for (size_t c = begin; c < end; c += LANES) {
            b.x = x + c;
            b.rows = p->blocks + c * rows;
            b.channels = end - c < LANES ? end - c : LANES;
            if (p->outputs == 2 && b.channels == LANES)
                block_row(p, &b, 2, true, !is_signed, row, y + c);
            else if (p->outputs == 2)
                block_row(p, &b, 2, false, !is_signed, row, y + c);
            else if (b.channels == LANES)
                block_row(p, &b, 1, true, !is_signed, row, y + c);
            else
                block_row(p, &b, 1, false, !is_signed, row, y + c);
        }
    }
}

void nnf_depthwise_conv2d_qu8_nhwc__neondot_4x16k4(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                   size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, false);
}

void nnf_depthwise_conv2d_qs8_nhwc__neondot_4x16k4(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                   size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, true);
}
