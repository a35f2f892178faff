#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

#define INLINE static inline __attribute__((always_inline))
#define BLOCK NNF_DEPTHWISE_BLOCK

/* One block of 16 output channels, or fewer at the end of the image's channels. */
typedef struct block {
    const float *x, *w; /* first channel of the image; bias, then taps */
    size_t pixel;       /* floats between columns of the image */
    __mmask16 load, store;
    __m512i spread;     /* lane of the loaded channels that each output channel reads */
    __m512 lo, hi;
} block;

INLINE __m512 load(const block *b, const float *x, bool full, bool spread)
{
    const __m512 v = full ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(b->load, x);
    return spread ? _mm512_permutexvar_ps(b->spread, v) : v;
}

INLINE void store(const block *b, float *y, __m512 v, bool full)
{
    /* min/max return the second operand when either is NaN, so that a NaN stays one. */
    v = _mm512_min_ps(b->hi, _mm512_max_ps(b->lo, v));
    if (full)
        _mm512_storeu_ps(y, v);
    else
        _mm512_mask_storeu_ps(y, b->store, v);
}

/* `count` pixels of one row that have the same taps inside the image; x is the first tap of the first pixel. */
INLINE void pixels(const nnf_depthwise *g, const block *b, const int count, bool full, bool spread, const float *x,
                   const float *w, size_t rows, size_t columns, float *y)
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
        store(b, y + (size_t)p * g->channels, sum[p], full);
}

/* Any window: the pixels with a full row of taps in groups, the others one by one. */
INLINE void any_row(const nnf_depthwise *g, const block *b, bool full, bool spread, size_t row, float *y)
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
            pixels(g, b, 1, full, spread, x, w + left * BLOCK, rows, right - left, y + o * g->channels);
            o++;
            continue;
        }
        const float *x = line + (o * g->x.stride - g->x.head) * b->pixel;
        const size_t count = outer - o >= 8 ? 8 : outer - o >= 4 ? 4 : 1;
        if (count == 8)
            pixels(g, b, 8, full, spread, x, w, rows, g->x.taps, y + o * g->channels);
        else if (count == 4)
            pixels(g, b, 4, full, spread, x, w, rows, g->x.taps, y + o * g->channels);
        else
            pixels(g, b, 1, full, spread, x, w, rows, g->x.taps, y + o * g->channels);
        o += count;
    }
}

/* 3x3, stride 1: `rows` output rows together, walking the image's columns. Each element is loaded once per call, which
 * is what counts where the pixels of an image fall into the same few cache sets (14x14x512). */
INLINE void rows_3x3(const nnf_depthwise *g, const block *b, const int rows, bool full, size_t row, float *y)
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
                store(b, y + ((size_t)r * g->x.out + v - 2) * g->channels, done[r], full);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            done[r] = next[r];
            next[r] = fresh[r];
        }
    }
}

/* `rows` output rows of one block; more than one only for 3x3 windows with stride 1. */
INLINE void run_block(const nnf_depthwise *g, const block *b, bool full, bool spread, bool small, size_t row,
                      size_t rows, float *y)
{
    if (!small)
        any_row(g, b, full, spread, row, y);
    else if (rows == 4)
        rows_3x3(g, b, 4, full, row, y);
    else if (rows == 3)
        rows_3x3(g, b, 3, full, row, y);
    else if (rows == 2)
        rows_3x3(g, b, 2, full, row, y);
    else
        rows_3x3(g, b, 1, full, row, y);
}

void nnf_depthwise_conv2d_f32_nhwc__avx512_4x16(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                size_t end, const float *x, const float *packed, float *y, float lo,
                                                float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * g->channels;
    const bool small = g->y.taps == 3 && g->x.taps == 3 && g->y.stride == 1 && g->x.stride == 1 &&
                       g->y.dilation == 1 && g->x.dilation == 1 && g->multiplier == 1;
    block b = {.pixel = depth, .lo = _mm512_set1_ps(lo), .hi = _mm512_set1_ps(hi)};
    /* All channels of a few rows before the next rows: the image is read in order. */
    for (size_t row = first, rows; row < last; row += rows) {
        /* Two rows or more at a time: three running sums cannot hide the latency of an FMA. */
        const size_t left = last - row;
        rows = !small ? 1 : left == 4 || left > 5 ? 4 : left == 5 ? 3 : left;
        for (size_t c = begin; c < end; c += BLOCK) {
            const size_t lanes = end - c < BLOCK ? end - c : BLOCK, source = c / g->multiplier;
            const size_t loaded = (c + lanes - 1) / g->multiplier - source + 1;
            float *target = y + (row - first) * line + c;
            b.x = x + source;
            b.w = packed + c * (1 + taps);
            b.load = (__mmask16)((1u << loaded) - 1);
            b.store = (__mmask16)((1u << lanes) - 1);
            if (g->multiplier > 1) {
                int32_t lane[BLOCK];
                for (size_t i = 0; i < BLOCK; i++)
                    lane[i] = (int32_t)((c + i) / g->multiplier - source);
                b.spread = _mm512_loadu_si512(lane);
                run_block(g, &b, false, true, false, row, rows, target);
            } else if (lanes == BLOCK) {
                run_block(g, &b, true, false, small, row, rows, target);
            } else {
                run_block(g, &b, false, false, small, row, rows, target);
            }
        }
    }
}
