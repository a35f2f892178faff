/* What the float32 kernels of AVX-512 share, whatever they write: `output` is the type of an output, and `write_block`
 * stores 16 of them. Include only from AVX-512 files that define both. */
#ifndef NNF_DEPTHWISE_CONV2D_AVX512_H
#define NNF_DEPTHWISE_CONV2D_AVX512_H

#include <stdbool.h>

#include "nnf/simd/f32_avx512.h"
#include "nnf/unroll.h"

#define BLOCK NNF_DEPTHWISE_BLOCK

/* One block of 16 output channels, or fewer at the end of the image's channels. */
typedef struct block {
    const float *x, *w; /* first channel of the image; bias, then taps */
    size_t pixel, out;  /* floats between columns of the image, outputs between those of the output */
    __mmask16 load, store;
    bool full;          /* all lanes are stored */
    __m512i spread;     /* lane of the loaded channels that each output channel reads */
    __m512 lo, hi;
} block;

#include "depthwise_conv2d/depthwise_conv2d_walk_simd.h"

INLINE V read_pixel(const block *b, const float *x) { return load(b->load, x); }

INLINE void put_pixel(const block *b, output *y, V sum)
{
    write_block(y, between(b->lo, b->hi, sum), b->store, b->full);
}

INLINE __m512 load_some(const block *b, const float *x, bool full, bool spread)
{
    const __m512 v = full ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(b->load, x);
    return spread ? _mm512_permutexvar_ps(b->spread, v) : v;
}

INLINE void store_some(const block *b, output *y, __m512 v, bool full)
{
    write_block(y, between(b->lo, b->hi, v), b->store, full);
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
                sum[p] = _mm512_fmadd_ps(load_some(b, tap + (size_t)p * step, full, spread), weight, sum[p]);
        }
    }
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        store_some(b, y + (size_t)p * b->out, sum[p], full);
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

#include "depthwise_conv2d/depthwise_conv2d_flat_simd.h"

INLINE void put_first(const block *b, output *y, size_t lanes, V sum)
{
    write_block(y, between(b->lo, b->hi, sum), first_lanes(lanes), lanes == LANES);
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
                const __m512 value = load_some(b, line[i] + offset, full, false);
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
                store_some(b, y + ((size_t)r * g->x.out + v - 2) * b->out, done[r], full);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            done[r] = next[r];
            next[r] = fresh[r];
        }
    }
}

/* `rows` output rows of 3x3 windows of stride 1, one to four, of one block. */
INLINE void some_rows_3x3(const nnf_depthwise *g, const block *b, bool full, size_t rows, size_t row, output *y)
{
    switch (rows) {
    case 4: rows_3x3(g, b, 4, full, row, y); break;
    case 3: rows_3x3(g, b, 3, full, row, y); break;
    case 2: rows_3x3(g, b, 2, full, row, y); break;
    default: rows_3x3(g, b, 1, full, row, y); break;
    }
}

static __attribute__((noinline)) void walk_3x3(const nnf_depthwise *g, const block *b, size_t rows, size_t row,
                                               output *y)
{
    if (b->full)
        some_rows_3x3(g, b, true, rows, row, y);
    else
        some_rows_3x3(g, b, false, rows, row, y);
}

WALK(walk_3x3_by_2, 3, 2, 1, 4)
WALK(walk_5x5, 5, 1, 1, 2)
WALK(walk_5x5_by_2, 5, 2, 1, 4)

/* The walk of windows; NULL for those that have none. */
static walk_fn walk_of(const nnf_depthwise *g)
{
    if (!walks_at_all(g))
        return NULL;
    if (g->y.taps == 3)
        return g->y.stride == 1 ? walk_3x3 : walk_3x3_by_2;
    return g->y.stride == 1 ? walk_5x5 : walk_5x5_by_2;
}

/* How many of the rows that are left go together, from `row`; 0 where that one has no walk. */
static size_t rows_together(const nnf_depthwise *g, walk_fn by, size_t row, size_t left)
{
    /* Two rows or more at a time: three running sums cannot hide the latency of an FMA. */
    if (by == walk_3x3)
        return left == 4 || left > 5 ? 4 : left == 5 ? 3 : left;
    size_t rows = !by ? 0 : by == walk_5x5 ? 2 : 4;
    while (rows && (rows > left || !has_walk(g, rows, row)))
        rows /= 2;
    return rows;
}

/* Contract in depthwise_conv2d.h; `out` outputs lie between the pixels of y. */
INLINE void run_rows(const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
                     const float *packed, output *y, size_t out, float lo, float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * out;
    const walk_fn by = walk_of(g);
    block b = {.pixel = depth, .out = out, .lo = _mm512_set1_ps(lo), .hi = _mm512_set1_ps(hi)};
    flat_weights few;
    const bool flat = is_flat(g, &b);
    if (flat)
        fill_flat(g, packed, &few);
    /* All channels of a few rows before the next rows: the image is read in order. */
    for (size_t row = first, rows; row < last; row += rows) {
        const size_t together = rows_together(g, by, row, last - row);
        rows = together && !flat ? together : 1;
        for (size_t c = begin; c < end; c += BLOCK) {
            const size_t lanes = end - c < BLOCK ? end - c : BLOCK, source = c / g->multiplier;
            const size_t loaded = (c + lanes - 1) / g->multiplier - source + 1;
            output *target = y + (row - first) * line + c;
            b.x = x + source;
            b.w = packed + c * (1 + taps);
            b.load = (__mmask16)((1u << loaded) - 1);
            b.store = (__mmask16)((1u << lanes) - 1);
            b.full = lanes == BLOCK;
            if (flat) {
                flat_row(g, &b, &few, row, target);
            } else if (together) {
                by(g, &b, rows, row, target);
            } else if (g->multiplier > 1) {
                int32_t lane[BLOCK];
                for (size_t i = 0; i < BLOCK; i++)
                    lane[i] = (int32_t)((c + i) / g->multiplier - source);
                b.spread = _mm512_loadu_si512(lane);
                any_row(g, &b, false, true, row, target);
            } else if (b.full) {
                any_row(g, &b, true, false, row, target);
            } else {
                any_row(g, &b, false, false, row, target);
            }
        }
    }
}

#endif
