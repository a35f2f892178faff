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

INLINE float32x4_t clamp(float32x4_t lo, float32x4_t hi, float32x4_t v)
{
    return vminq_f32(hi, vmaxq_f32(lo, v)); /* both keep a NaN */
}

INLINE void store(const block *b, float *y, float32x4_t v, bool full)
{
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
            store(b, y + (size_t)p * g->channels + 4 * v, clamp(b->lo, b->hi, sum[p][v]), full);
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

/* Four channels of `rows` output rows of a 3x3 window of stride 1. */
typedef struct rows_3x3 {
    float32x4_t bias, w[9], lo, hi;
    const float *line[6];      /* of the image; NULL outside */
    size_t head, size, column; /* of the window, of the image, of an element: in floats */
} rows_3x3;

/* The column `at` floats behind the first of the first window: finishes the outputs left of it, adds to those at it,
 * begins those right of it. Each element is loaded once and serves up to nine outputs. */
INLINE void column_3x3(const rows_3x3 *s, const block *b, const int rows, bool full, size_t at, float32x4_t done[4],
                       float32x4_t next[4], float32x4_t fresh[4], float *const y[4])
{
    NNF_UNROLL
    for (int r = 0; r < rows; r++)
        fresh[r] = s->bias;
    const size_t inside = at - s->head; /* wraps left of the image */
    if (inside < s->size) {
        NNF_UNROLL
        for (int i = 0; i < rows + 2; i++) {
            if (!s->line[i])
                continue;
            const float32x4_t value = load(b, s->line[i] + inside, full, false);
            NNF_UNROLL
            for (int r = 0; r < rows; r++) {
                if (i < r || i > r + 2)
                    continue;
                done[r] = vfmaq_f32(done[r], value, s->w[(i - r) * 3 + 2]);
                next[r] = vfmaq_f32(next[r], value, s->w[(i - r) * 3 + 1]);
                fresh[r] = vfmaq_f32(fresh[r], value, s->w[(i - r) * 3]);
            }
        }
    }
    const size_t left = at - 2 * s->column; /* wraps where no window ends */
    if (left > at)
        return;
    NNF_UNROLL
    for (int r = 0; r < rows; r++)
        store(b, y[r] + left, clamp(s->lo, s->hi, done[r]), full);
}

/* Walks the image's columns; three at a time, so that sums change their role without a move. */
INLINE void walk_3x3(const nnf_depthwise *g, const block *b, const int rows, bool full, size_t row, float *y)
{
    const size_t column = b->pixel, end = (g->x.out + 2) * column;
    rows_3x3 s = {.bias = vld1q_f32(b->w), .lo = b->lo, .hi = b->hi, .head = g->x.head * column,
                  .size = g->x.size * column, .column = column};
    float32x4_t one[4], two[4], three[4];
    float *to[4];
    NNF_UNROLL
    for (int t = 0; t < 9; t++)
        s.w[t] = vld1q_f32(b->w + (1 + t) * BLOCK);
    NNF_UNROLL
    for (int i = 0; i < rows + 2; i++) {
        const size_t at = row + (size_t)i - g->y.head; /* wraps above the image */
        s.line[i] = at < g->y.size ? b->x + at * s.size : NULL;
    }
    NNF_UNROLL
    for (int r = 0; r < rows; r++) {
        one[r] = two[r] = s.bias;
        to[r] = y + (size_t)r * g->x.out * column;
    }
    for (size_t at = 0; at < end; at += column) {
        column_3x3(&s, b, rows, full, at, one, two, three, to);
        if ((at += column) == end)
            break;
        column_3x3(&s, b, rows, full, at, two, three, one, to);
        if ((at += column) == end)
            break;
        column_3x3(&s, b, rows, full, at, three, one, two, to);
    }
}

INLINE void some_rows_3x3(const nnf_depthwise *g, const block *b, bool full, size_t row, size_t rows, float *y)
{
    if (rows == 4)
        walk_3x3(g, b, 4, full, row, y);
    else if (rows == 3)
        walk_3x3(g, b, 3, full, row, y);
    else if (rows == 2)
        walk_3x3(g, b, 2, full, row, y);
    else
        walk_3x3(g, b, 1, full, row, y);
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
