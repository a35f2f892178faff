/* What the float32 kernels of NEON share, whatever they write: `output` is the type of an output, `write_some` stores
 * up to four of them, `write_two` four at each of two places. Include only from NEON files that define them. */
#ifndef NNF_DEPTHWISE_CONV2D_NEON_H
#define NNF_DEPTHWISE_CONV2D_NEON_H

#include <stdbool.h>

#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

#define BLOCK NNF_DEPTHWISE_BLOCK

/* Eight output channels, or four or fewer. */
typedef struct block {
    const float *x, *w;     /* first channel of the image; bias, then taps */
    size_t pixel, out;      /* floats between columns of the image, outputs between those of the output */
    size_t channels;        /* that exist */
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

/* `count` vectors, each at its place. */
INLINE void store(const block *b, const int count, output *const y[], const float32x4_t v[], bool full)
{
    const int twos = full ? count / 2 * 2 : 0;
    NNF_UNROLL
    for (int i = 0; i < twos; i += 2)
        write_two(y[i], y[i + 1], clamp(b->lo, b->hi, v[i]), clamp(b->lo, b->hi, v[i + 1]));
    NNF_UNROLL
    for (int i = twos; i < count; i++)
        write_some(y[i], clamp(b->lo, b->hi, v[i]), full ? 4 : b->channels);
}

/* `count` pixels of one row that have the same taps inside the image; x is the first tap of the first pixel. */
INLINE void pixels(const nnf_depthwise *g, const block *b, const int count, const int vectors, bool full, bool spread,
                   const float *x, const float *w, size_t rows, size_t columns, output *y)
{
    const size_t step = g->x.stride * b->pixel, across = g->x.dilation * b->pixel;
    const size_t down = g->y.dilation * g->x.size * b->pixel;
    float32x4_t sum[16];
    output *to[16];
    NNF_UNROLL
    for (int i = 0; i < count * vectors; i++)
        sum[i] = vld1q_f32(b->w + 4 * (i % vectors));
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const float *weight = w + (i * g->x.taps + j) * BLOCK, *tap = x + i * down + j * across;
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const float32x4_t factor = vld1q_f32(weight + 4 * v);
                NNF_UNROLL
                for (int p = 0; p < count; p++)
                    sum[p * vectors + v] = vfmaq_f32(sum[p * vectors + v],
                                                     load(b, tap + (size_t)p * step + 4 * v, full, spread), factor);
            }
        }
    }
    NNF_UNROLL
    for (int i = 0; i < count * vectors; i++)
        to[i] = y + (size_t)(i / vectors) * b->out + 4 * (i % vectors);
    store(b, count * vectors, to, sum, full);
}

/* Any window: the pixels with a full row of taps in groups, the others one by one. */
INLINE void any_row(const nnf_depthwise *g, const block *b, const int vectors, bool full, bool spread, size_t row,
                    output *y)
{
    size_t top, bottom, left, right, inner, outer;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    nnf_axis_full(&g->x, &inner, &outer);
    const size_t rows = bottom - top;
    const float *line = b->x + (row * g->y.stride + top * g->y.dilation - g->y.head) * g->x.size * b->pixel;
    const float *w = b->w + BLOCK * (1 + top * g->x.taps);
    for (size_t o = 0, count; o < g->x.out; o += count) {
        output *target = y + o * b->out;
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
    float32x4_t bias, w[9];
    const float *line[6];      /* of the image; NULL outside */
    size_t head, size, column; /* of the window, of the image, of an element: in floats */
} rows_3x3;

/* The column `at` floats behind the first of the first window: finishes the outputs left of it, adds to those at it,
 * begins those right of it. Each element is loaded once and serves up to nine outputs. written: numbers of each output
 * row that are there. */
INLINE void column_3x3(const rows_3x3 *s, const block *b, const int rows, bool full, size_t at, float32x4_t done[4],
                       float32x4_t next[4], float32x4_t fresh[4], output *const y[4], size_t *written)
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
    if (at < 2 * s->column) /* no window ends */
        return;
    output *to[4];
    NNF_UNROLL
    for (int r = 0; r < rows; r++)
        to[r] = y[r] + *written;
    store(b, rows, to, done, full);
    *written += b->out;
}

/* Walks the image's columns; three at a time, so that sums change their role without a move. */
INLINE void walk_3x3(const nnf_depthwise *g, const block *b, const int rows, bool full, size_t row, output *y)
{
    const size_t column = b->pixel, end = (g->x.out + 2) * column;
    rows_3x3 s = {.bias = vld1q_f32(b->w), .head = g->x.head * column,
                  .size = g->x.size * column, .column = column};
    float32x4_t one[4], two[4], three[4];
    output *to[4];
    size_t written = 0;
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
        to[r] = y + (size_t)r * g->x.out * b->out;
    }
    for (size_t at = 0; at < end; at += column) {
        column_3x3(&s, b, rows, full, at, one, two, three, to, &written);
        if ((at += column) == end)
            break;
        column_3x3(&s, b, rows, full, at, two, three, one, to, &written);
        if ((at += column) == end)
            break;
        column_3x3(&s, b, rows, full, at, three, one, two, to, &written);
    }
}

INLINE void some_rows_3x3(const nnf_depthwise *g, const block *b, bool full, size_t row, size_t rows, output *y)
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
                            size_t rows, output *y)
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

/* `pixel`: outputs from one column to the next. */
INLINE void run_rows(const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
                     const float *packed, output *y, size_t pixel, float lo, float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * pixel;
    const bool small = g->y.taps == 3 && g->x.taps == 3 && g->y.stride == 1 && g->x.stride == 1 &&
                       g->y.dilation == 1 && g->x.dilation == 1 && g->multiplier == 1;
    block b = {.pixel = depth, .out = pixel, .lo = vdupq_n_f32(lo), .hi = vdupq_n_f32(hi)};
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

#endif
