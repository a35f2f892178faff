#include "depthwise_conv2d.h"

#include <stdbool.h>

#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

#define BLOCK NNF_DEPTHWISE_BLOCK

/* Eight output channels, or four or fewer. */
typedef struct block {
    const float *x, *w;     /* first channel of the image; bias, then taps */
    size_t pixel, channels; /* floats between columns of the image; channels that exist */
    size_t source[4];       /* channel of the image that each output channel reads, where there is a multiplier */
    float32x4_t lo, hi;
} block;

INLINE float32x4_t load(const block *b, const float *x, bool full, bool spread)
{
    if (full)
        return vld1q_f32(x);
    if (!spread)
        return nnf_load_f32_neon(x, b->channels);
    float all[4];
    for (size_t i = 0; i < 4; i++)
        all[i] = x[b->source[i]];
    return vld1q_f32(all);
}

INLINE void store(const block *b, float *y, float32x4_t v, bool full)
{
    v = vminq_f32(b->hi, vmaxq_f32(b->lo, v)); /* both keep a NaN */
    if (full)
        vst1q_f32(y, v);
    else
        nnf_store_f32_neon(y, v, b->channels);
}

/* `count` pixels of one row that have the same taps inside the image; x is the first tap of the first pixel. */
INLINE void pixels(const nnf_depthwise *g, const block *b, const int count, const int vectors, bool full, bool spread,
                   const float *x, const float *w, size_t rows, size_t columns, float *y)
{
    const size_t step = g->x.stride * b->pixel, across = g->x.dilation * b->pixel;
    const size_t down = g->y.dilation * g->x.size * b->pixel;
    float32x4_t sum[8][2];
    NNF_UNROLL
    for (int p = 0; p < count; p++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[p][v] = vld1q_f32(b->w + 4 * v);
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const float *weight = w + (i * g->x.taps + j) * BLOCK, *tap = x + i * down + j * across;
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const float32x4_t factor = vld1q_f32(weight + 4 * v);
                NNF_UNROLL
                for (int p = 0; p < count; p++)
                    sum[p][v] = vfmaq_f32(sum[p][v], load(b, tap + (size_t)p * step + 4 * v, full, spread), factor);
            }
        }
    }
    NNF_UNROLL
    for (int p = 0; p < count; p++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            store(b, y + (size_t)p * g->channels + 4 * v, sum[p][v], full);
    }
}

/* Any window: the pixels with a full row of taps in groups, the others one by one. */
INLINE void any_row(const nnf_depthwise *g, const block *b, const int vectors, bool full, bool spread, size_t row,
                    float *y)
{
    size_t top, bottom, left, right, inner, outer;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    nnf_axis_full(&g->x, &inner, &outer);
    const size_t rows = bottom - top;
    const float *line = b->x + (row * g->y.stride + top * g->y.dilation - g->y.head) * g->x.size * b->pixel;
    const float *w = b->w + BLOCK * (1 + top * g->x.taps);
    for (size_t o = 0, count; o < g->x.out; o += count) {
        float *target = y + o * g->channels;
        if (o < inner || o >= outer) {
            nnf_axis_taps(&g->x, o, &left, &right);
            const float *x = line + (o * g->x.stride + left * g->x.dilation - g->x.head) * b->pixel;
            pixels(g, b, 1, vectors, full, spread, x, w + left * BLOCK, rows, right - left, target);
            count = 1;
            continue;
        }
        const float *x = line + (o * g->x.stride - g->x.head) * b->pixel;
        count = outer - o >= 8 ? 8 : outer - o >= 4 ? 4 : 1;
        if (count == 8)
            pixels(g, b, 8, vectors, full, spread, x, w, rows, g->x.taps, target);
        else if (count == 4)
            pixels(g, b, 4, vectors, full, spread, x, w, rows, g->x.taps, target);
        else
            pixels(g, b, 1, vectors, full, spread, x, w, rows, g->x.taps, target);
    }
}

/* 3x3, stride 1, four channels: `rows` output rows together, walking the image's columns. Each element is loaded once
 * and serves up to nine outputs. */
INLINE void rows_3x3(const nnf_depthwise *g, const block *b, const int rows, bool full, size_t row, float *y)
{
    const float32x4_t bias = vld1q_f32(b->w);
    float32x4_t w[9], done[4], next[4];
    const float *line[6];
    NNF_UNROLL
    for (int t = 0; t < 9; t++)
        w[t] = vld1q_f32(b->w + (1 + t) * BLOCK);
    NNF_UNROLL
    for (int i = 0; i < rows + 2; i++) {
        const size_t at = row + (size_t)i - g->y.head; /* wraps above the image */
        line[i] = at < g->y.size ? b->x + at * g->x.size * b->pixel : NULL;
    }
    NNF_UNROLL
    for (int r = 0; r < rows; r++)
        done[r] = next[r] = bias;
    const size_t row_size = g->x.out * g->channels;
    size_t offset = 0;
    for (size_t v = 0; v < g->x.out + 2; v++) {
        float32x4_t fresh[4];
        NNF_UNROLL
        for (int r = 0; r < rows; r++)
            fresh[r] = bias;
        if (v - g->x.head < g->x.size) {
            NNF_UNROLL
            for (int i = 0; i < rows + 2; i++) {
                if (!line[i])
                    continue;
                const float32x4_t value = load(b, line[i] + offset, full, false);
                NNF_UNROLL
                for (int r = 0; r < rows; r++) {
                    if (i < r || i > r + 2)
                        continue;
                    done[r] = vfmaq_f32(done[r], value, w[(i - r) * 3 + 2]);
                    next[r] = vfmaq_f32(next[r], value, w[(i - r) * 3 + 1]);
                    fresh[r] = vfmaq_f32(fresh[r], value, w[(i - r) * 3]);
                }
            }
            offset += b->pixel;
        }
        if (v >= 2) {
            NNF_UNROLL
            for (int r = 0; r < rows; r++)
                store(b, y + (size_t)r * row_size, done[r], full);
            y += g->channels;
        }
        NNF_UNROLL
        for (int r = 0; r < rows; r++) {
            done[r] = next[r];
            next[r] = fresh[r];
        }
    }
}

INLINE void some_rows_3x3(const nnf_depthwise *g, const block *b, bool full, size_t row, size_t rows, float *y)
{
    if (rows == 4)
        rows_3x3(g, b, 4, full, row, y);
    else if (rows == 3)
        rows_3x3(g, b, 3, full, row, y);
    else if (rows == 2)
        rows_3x3(g, b, 2, full, row, y);
    else
        rows_3x3(g, b, 1, full, row, y);
}

/* Rows of the first channels of `rest`; returns how many channels these were. */
static size_t some_channels(const nnf_depthwise *g, block *b, bool small, size_t channel, size_t rest, size_t row,
                            size_t rows, float *y)
{
    b->channels = rest < 4 ? rest : 4;
    if (g->multiplier > 1) {
        const size_t first = channel / g->multiplier;
        for (size_t i = 0; i < 4; i++)
            b->source[i] = (channel + (i < b->channels ? i : 0)) / g->multiplier - first;
        any_row(g, b, 1, false, true, row, y);
    } else if (small && rest >= 4) {
        some_rows_3x3(g, b, true, row, rows, y);
    } else if (small) {
        some_rows_3x3(g, b, false, row, rows, y);
    } else if (rest >= 8) {
        any_row(g, b, 2, true, false, row, y);
        return 8;
    } else if (rest >= 4) {
        any_row(g, b, 1, true, false, row, y);
    } else {
        any_row(g, b, 1, false, false, row, y);
    }
    return b->channels;
}

void nnf_depthwise_conv2d_f32_nhwc__neon_4x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                             size_t end, const float *x, const float *packed, float *y, float lo,
                                             float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * g->channels;
    const bool small = g->y.taps == 3 && g->x.taps == 3 && g->y.stride == 1 && g->x.stride == 1 &&
                       g->y.dilation == 1 && g->x.dilation == 1 && g->multiplier == 1;
    block b = {.pixel = depth, .lo = vdupq_n_f32(lo), .hi = vdupq_n_f32(hi)};
    for (size_t row = first, rows; row < last; row += rows) {
        /* Two rows or more at a time: three running sums cannot hide the latency of a multiply-add. */
        const size_t left = last - row;
        rows = !small ? 1 : left == 4 || left > 5 ? 4 : left == 5 ? 3 : left;
        for (size_t c = begin; c < end;) {
            const size_t lane = c % BLOCK;
            b.x = x + c / g->multiplier;
            b.w = packed + (c - lane) * (1 + taps) + lane;
            c += some_channels(g, &b, small, c, end - c, row, rows, y + (row - first) * line + c);
        }
    }
}
