/* What the float32 kernels of AVX-512 share, whatever they write: `output` is the type of an output, and `write_block`
 * stores 16 of them. Include only from AVX-512 files that define both. */
#ifndef NNF_DEPTHWISE_CONV2D_AVX512_H
#define NNF_DEPTHWISE_CONV2D_AVX512_H

#include <stdbool.h>

#include "nnf/unroll.h"

#define BLOCK NNF_DEPTHWISE_BLOCK

/* One block of 16 output channels, or fewer at the end of the image's channels. */
typedef struct block {
    const float *x, *w; /* first channel of the image; bias, then taps */
    size_t pixel, out;  /* floats between columns of the image, outputs between those of the output */
    __mmask16 load, store;
    __m512i spread;     /* lane of the loaded channels that each output channel reads */
    __m512 lo, hi;
} block;

INLINE __m512 load(const block *b, const float *x, bool full, bool spread)
{
    const __m512 v = full ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(b->load, x);
    return spread ? _mm512_permutexvar_ps(b->spread, v) : v;
}

INLINE void store(const block *b, output *y, __m512 v, bool full)
{
    /* min/max return the second operand when either is NaN, so that a NaN stays one. */
    write_block(y, _mm512_min_ps(b->hi, _mm512_max_ps(b->lo, v)), b->store, full);
}

/* `count` pixels of one row that have the same taps inside the image; x is the first tap of the first pixel. */
INLINE void pixels(const nnf_depthwise *g, const block *b, const int count, bool full, bool spread, const float *x,
                   const float *w, size_t rows, size_t columns, output *y)
{
    const size_t step = g->x.stride * b->pixel, across = g->x.dilation * b->pixel;
    const size_t down = g->y.dilation * g->x.size * b->pixel;
    __m512 sum[8];
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        sum[p] = _mm512_loadu_ps(b->w);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const __m512 weight = _mm512_loadu_ps(w + (i * g->x.taps + j) * BLOCK);
            const float *tap = x + i * down + j * across;
#pragma GCC unroll 8
            for (int p = 0; p < count; p++)
                sum[p] = _mm512_fmadd_ps(load(b, tap + (size_t)p * step, full, spread), weight, sum[p]);
        }
    }
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        store(b, y + (size_t)p * b->out, sum[p], full);
}

/* Any window: the pixels with a full row of taps in groups, the others one by one. */
INLINE void any_row(const nnf_depthwise *g, const block *b, bool full, bool spread, size_t row, output *y)
{
    size_t top, bottom, left, right, inner, outer;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    nnf_axis_full(&g->x, &inner, &outer);
    const size_t rows = bottom - top;
    const float *line = b->x + (row * g->y.stride + top * g->y.dilation - g->y.head) * g->x.size * b->pixel;
    const float *w = b->w + BLOCK + top * g->x.taps * BLOCK;
    for (size_t o = 0; o < g->x.out;) {
        if (o < inner || o >= outer) {
            nnf_axis_taps(&g->x, o, &left, &right);
            const float *x = line + (o * g->x.stride + left * g->x.dilation - g->x.head) * b->pixel;
            pixels(g, b, 1, full, spread, x, w + left * BLOCK, rows, right - left, y + o * b->out);
            o++;
            continue;
        }
        const float *x = line + (o * g->x.stride - g->x.head) * b->pixel;
        const size_t count = outer - o >= 8 ? 8 : outer - o >= 4 ? 4 : 1;
        if (count == 8)
            pixels(g, b, 8, full, spread, x, w, rows, g->x.taps, y + o * b->out);
        else if (count == 4)
            pixels(g, b, 4, full, spread, x, w, rows, g->x.taps, y + o * b->out);
        else
            pixels(g, b, 1, full, spread, x, w, rows, g->x.taps, y + o * b->out);
        o += count;
    }
}

/* 3x3, stride 1: `rows` output rows together, walking the image's columns. Each element is loaded once per call, which
 * is what counts where the pixels of an image fall into the same few cache sets (14x14x512). */
INLINE void rows_3x3(const nnf_depthwise *g, const block *b, const int rows, bool full, size_t row, output *y)
{
    const __m512 bias = _mm512_loadu_ps(b->w);
    __m512 w[9], done[4], next[4];
    const float *line[6];
#pragma GCC unroll 9
    for (int t = 0; t < 9; t++)
        w[t] = _mm512_loadu_ps(b->w + (size_t)(1 + t) * BLOCK);
#pragma GCC unroll 6
    for (int i = 0; i < rows + 2; i++) {
        const size_t at = row + (size_t)i - g->y.head; /* wraps above the image */
        line[i] = at < g->y.size ? b->x + at * g->x.size * b->pixel : NULL;
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        done[r] = next[r] = bias;
    size_t offset = 0;
    for (size_t v = 0; v < g->x.out + 2; v++) {
        __m512 fresh[4];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            fresh[r] = bias;
        if (v - g->x.head < g->x.size) {
#pragma GCC unroll 6
            for (int i = 0; i < rows + 2; i++) {
                if (!line[i])
                    continue;
                const __m512 value = load(b, line[i] + offset, full, false);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) {
                    if (i < r || i > r + 2)
                        continue;
                    done[r] = _mm512_fmadd_ps(value, w[(i - r) * 3 + 2], done[r]);
                    next[r] = _mm512_fmadd_ps(value, w[(i - r) * 3 + 1], next[r]);
                    fresh[r] = _mm512_fmadd_ps(value, w[(i - r) * 3], fresh[r]);
                }
            }
            offset += b->pixel;
        }
        if (v >= 2) {
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                store(b, y + ((size_t)r * g->x.out + v - 2) * b->out, done[r], full);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            done[r] = next[r];
            next[r] = fresh[r];
        }
    }
}

/* Floats of a copy, which stays in the level 1 cache of most AVX-512 processors. The same on all of them: the ways to do a
 * row may differ in the sign of a zero. */
enum { COPY = (40 << 10) / sizeof(float) };

/* `count` outputs of one row in a copy, `line` its first element under the first tap, `width` floats between rows. */
INLINE void copied_pixels(const block *b, const int taps, const int stride, const int count, bool full,
                          const float *line, size_t width, output *y)
{
    const float *w = b->w + BLOCK;
    __m512 sum[8];
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        sum[p] = _mm512_loadu_ps(b->w);
    for (int i = 0; i < taps; i++, line += width) {
#pragma GCC unroll 5
        for (int j = 0; j < taps; j++, w += BLOCK) {
            const __m512 weight = _mm512_loadu_ps(w);
#pragma GCC unroll 8
            for (int p = 0; p < count; p++)
                sum[p] = _mm512_fmadd_ps(_mm512_load_ps(line + (p * stride + j) * BLOCK), weight, sum[p]);
        }
    }
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        store(b, y + (size_t)p * b->out, sum[p], full);
}

/* Input rows under `rows` output rows, and columns under all outputs. */
INLINE size_t copied_rows(const nnf_depthwise *g, size_t rows)
{
    return (rows - 1) * g->y.stride + g->y.taps;
}

INLINE size_t copied_columns(const nnf_depthwise *g)
{
    return (g->x.out - 1) * g->x.stride + g->x.taps;
}

/* Square windows of constant size: the inputs are copied with their padding, so that every output is like every other,
 * and the pixels of an image cannot fall into the same few cache sets. False, and nothing done, where a weight is not
 * finite: it would make NaN of the zeros around the image. */
INLINE bool rows_copied(const nnf_depthwise *g, const block *b, const int taps, const int stride, bool full, size_t row,
                        size_t rows, output *y)
{
    __m512 odd = _mm512_setzero_ps();
    for (int t = 1; t <= taps * taps; t++)
        odd = _mm512_fmadd_ps(_mm512_loadu_ps(b->w + (size_t)t * BLOCK), _mm512_setzero_ps(), odd);
    if (_mm512_cmp_ps_mask(odd, odd, _CMP_UNORD_Q))
        return false;
    float copy[COPY] __attribute__((aligned(64)));
    const size_t columns = copied_columns(g), width = columns * BLOCK;
    const size_t left = g->x.head < columns ? g->x.head : columns;
    const size_t right = columns - left < g->x.size ? columns : left + g->x.size;
    float *to = copy;
    for (size_t i = 0; i < copied_rows(g, rows); i++) {
        const size_t at = row * g->y.stride + i - g->y.head; /* wraps above the image */
        const float *from = b->x + at * g->x.size * b->pixel;
        const size_t begin = at < g->y.size ? left : columns, end = at < g->y.size ? right : columns;
        size_t j = 0;
        for (; j < begin; j++, to += BLOCK)
            _mm512_store_ps(to, _mm512_setzero_ps());
        for (; j < end; j++, to += BLOCK, from += b->pixel)
            _mm512_store_ps(to, load(b, from, full, false));
        for (; j < columns; j++, to += BLOCK)
            _mm512_store_ps(to, _mm512_setzero_ps());
    }
    const size_t groups = (g->x.out + 7) / 8;
    for (size_t r = 0; r < rows; r++) {
        const float *line = copy + r * g->y.stride * width;
        for (size_t n = 0, o = 0, next; n < groups; n++, o = next) {
            next = (n + 1) * g->x.out / groups;
            const float *x = line + o * g->x.stride * BLOCK;
            output *target = y + (r * g->x.out + o) * b->out;
            switch (next - o) {
            case 8: copied_pixels(b, taps, stride, 8, full, x, width, target); break;
            case 7: copied_pixels(b, taps, stride, 7, full, x, width, target); break;
            case 6: copied_pixels(b, taps, stride, 6, full, x, width, target); break;
            case 5: copied_pixels(b, taps, stride, 5, full, x, width, target); break;
            case 4: copied_pixels(b, taps, stride, 4, full, x, width, target); break;
            case 3: copied_pixels(b, taps, stride, 3, full, x, width, target); break;
            case 2: copied_pixels(b, taps, stride, 2, full, x, width, target); break;
            default: copied_pixels(b, taps, stride, 1, full, x, width, target); break;
            }
        }
    }
    return true;
}

/* Not inline: each is long, and called once for some rows of 16 channels. */
static bool rows_3x3_by_2(const nnf_depthwise *g, const block *b, bool full, size_t row, size_t rows, output *y)
{
    return rows_copied(g, b, 3, 2, full, row, rows, y);
}

static bool rows_5x5(const nnf_depthwise *g, const block *b, bool full, size_t row, size_t rows, output *y)
{
    return rows_copied(g, b, 5, 1, full, row, rows, y);
}

static bool rows_5x5_by_2(const nnf_depthwise *g, const block *b, bool full, size_t row, size_t rows, output *y)
{
    return rows_copied(g, b, 5, 2, full, row, rows, y);
}

typedef bool (*copied_fn)(const nnf_depthwise *g, const block *b, bool full, size_t row, size_t rows, output *y);

/* How rows are done: `small` 3x3 with stride 1, by `copied`, or any. */
typedef struct way {
    bool small;
    copied_fn copied;
} way;

static way choose(const nnf_depthwise *g)
{
    way w = {0};
    const bool square = g->y.taps == g->x.taps && g->y.stride == g->x.stride && g->y.dilation == 1 &&
                        g->x.dilation == 1 && g->multiplier == 1;
    w.small = square && g->y.taps == 3 && g->y.stride == 1;
    /* With stride 2 an input is read too seldom to be worth a copy, but for rows with more edge than middle. */
    if (square && copied_rows(g, 1) * copied_columns(g) * BLOCK <= COPY && (g->y.stride == 1 || g->x.out <= 8)) {
        if (g->y.taps == 5)
            w.copied = g->y.stride == 1 ? rows_5x5 : g->y.stride == 2 ? rows_5x5_by_2 : NULL;
        else if (g->y.taps == 3 && g->y.stride == 2)
            w.copied = rows_3x3_by_2;
    }
    return w;
}

/* How many of the rows that are left go together. */
static size_t rows_together(const nnf_depthwise *g, const way *w, size_t left)
{
    /* Two rows or more at a time: three running sums cannot hide the latency of an FMA. */
    if (w->small)
        return left == 4 || left > 5 ? 4 : left == 5 ? 3 : left;
    size_t rows = 1;
    while (w->copied && rows < 4 && rows < left &&
           copied_rows(g, rows + 1) * copied_columns(g) * BLOCK <= COPY)
        rows++;
    return rows;
}

/* `rows` output rows of one block. */
INLINE void run_block(const nnf_depthwise *g, const block *b, const way *w, bool full, bool spread, size_t row,
                      size_t rows, output *y)
{
    if (w->copied && w->copied(g, b, full, row, rows, y))
        return;
    if (!w->small) {
        for (size_t r = 0; r < rows; r++)
            any_row(g, b, full, spread, row + r, y + r * g->x.out * b->out);
    } else if (rows == 4) {
        rows_3x3(g, b, 4, full, row, y);
    } else if (rows == 3) {
        rows_3x3(g, b, 3, full, row, y);
    } else if (rows == 2) {
        rows_3x3(g, b, 2, full, row, y);
    } else {
        rows_3x3(g, b, 1, full, row, y);
    }
}

/* Contract in depthwise_conv2d.h; `out` outputs lie between the pixels of y. */
INLINE void run_rows(const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
                     const float *packed, output *y, size_t out, float lo, float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * out;
    const way w = choose(g);
    block b = {.pixel = depth, .out = out, .lo = _mm512_set1_ps(lo), .hi = _mm512_set1_ps(hi)};
    /* All channels of a few rows before the next rows: the image is read in order. */
    for (size_t row = first, rows; row < last; row += rows) {
        rows = rows_together(g, &w, last - row);
        for (size_t c = begin; c < end; c += BLOCK) {
            const size_t lanes = end - c < BLOCK ? end - c : BLOCK, source = c / g->multiplier;
            const size_t loaded = (c + lanes - 1) / g->multiplier - source + 1;
            output *target = y + (row - first) * line + c;
            b.x = x + source;
            b.w = packed + c * (1 + taps);
            b.load = (__mmask16)((1u << loaded) - 1);
            b.store = (__mmask16)((1u << lanes) - 1);
            if (g->multiplier > 1) {
                int32_t lane[BLOCK];
                for (size_t i = 0; i < BLOCK; i++)
                    lane[i] = (int32_t)((c + i) / g->multiplier - source);
                b.spread = _mm512_loadu_si512(lane);
                run_block(g, &b, &w, false, true, row, rows, target);
            } else if (lanes == BLOCK) {
                run_block(g, &b, &w, true, false, row, rows, target);
            } else {
                run_block(g, &b, &w, false, false, row, rows, target);
            }
        }
    }
}

#endif
