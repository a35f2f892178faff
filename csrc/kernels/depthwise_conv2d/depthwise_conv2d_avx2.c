#include "depthwise_conv2d.h"

#include <stdbool.h>

#include "nnf/partial_avx2.h"
#include "nnf/simd/f32_avx2.h"
#include "nnf/unroll.h"

typedef float output;

/* Half a block: 8 output channels, or fewer at the end of the image's channels. */
typedef struct block {
    const float *x, *w; /* first channel of the image; bias, then taps */
    size_t pixel, out;  /* floats between columns of the image, and of the output */
    __m256i load, spread;
    ptrdiff_t lanes; /* channels of an output */
    __m256 lo, hi;
} block;

#include "depthwise_conv2d/depthwise_conv2d_walk_simd.h"

INLINE __m256 load_some(const block *b, const float *x, bool full, bool spread)
{
    const __m256 v = full ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, b->load);
    return spread ? _mm256_permutevar8x32_ps(v, b->spread) : v;
}

/* Taps of a row of the window for `count` pixels, `step` floats apart. */
INLINE void add_taps(const block *b, __m256 *sum, const int count, bool full, bool spread, const float *x, size_t step,
                     const float *w)
{
    const __m256 weight = _mm256_loadu_ps(w);
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        sum[p] = _mm256_fmadd_ps(load_some(b, x + (size_t)p * step, full, spread), weight, sum[p]);
}

/* As in the AVX-512 file; but of few pixels each has several sums, for one would wait for its own additions: a row of the
 * window goes to each in turn. */
INLINE void pixels(const nnf_depthwise *g, const block *b, const int count, bool full, bool spread, const float *x,
                   const float *w, size_t rows, size_t columns, float *y)
{
    const int chains = count > 7 ? 1 : count > 3 ? 2 : 4;
    const size_t step = g->x.stride * b->pixel, across = g->x.dilation * b->pixel;
    const size_t down = g->y.dilation * g->x.size * b->pixel, next = g->x.taps * NNF_DEPTHWISE_BLOCK;
    __m256 sum[4][8];
    NNF_UNROLL
    for (int c = 0; c < chains; c++) {
#pragma GCC unroll 8
        for (int p = 0; p < count; p++)
            sum[c][p] = c ? _mm256_setzero_ps() : _mm256_loadu_ps(b->w);
    }
    size_t left = rows;
    for (; left >= (size_t)chains; left -= (size_t)chains, x += (size_t)chains * down, w += (size_t)chains * next) {
        for (size_t j = 0; j < columns; j++) {
            NNF_UNROLL
            for (int c = 0; c < chains; c++)
                add_taps(b, sum[c], count, full, spread, x + (size_t)c * down + j * across, step,
                         w + (size_t)c * next + j * NNF_DEPTHWISE_BLOCK);
        }
    }
    NNF_UNROLL
    for (int c = 0; c < chains - 1; c++) {
        for (size_t j = 0; (size_t)c < left && j < columns; j++)
            add_taps(b, sum[c], count, full, spread, x + (size_t)c * down + j * across, step,
                     w + (size_t)c * next + j * NNF_DEPTHWISE_BLOCK);
    }
#pragma GCC unroll 8
    for (int p = 0; p < count; p++) {
        __m256 all = sum[0][p];
        NNF_UNROLL
        for (int c = 1; c < chains; c++)
            all = _mm256_add_ps(all, sum[c][p]);
        /* min/max return the second operand when either is NaN, so that a NaN stays one. */
        const __m256 v = _mm256_min_ps(b->hi, _mm256_max_ps(b->lo, all));
        if (full)
            _mm256_storeu_ps(y + (size_t)p * g->channels, v);
        else
            nnf_store_f32_avx2(y + (size_t)p * g->channels, b->lanes, v);
    }
}

/* How many of `left` pixels go together: as many as there are registers for their sums, or two like groups of the rest. */
INLINE size_t pixels_together(size_t left)
{
    return left >= 16 ? 8 : left > 8 ? (left + 1) / 2 : left;
}

INLINE void any_row(const nnf_depthwise *g, const block *b, bool full, bool spread, size_t row, float *y)
{
    size_t top, bottom, left, right, inner, outer;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    nnf_axis_full(&g->x, &inner, &outer);
    const size_t rows = bottom - top;
    const float *line = b->x + (row * g->y.stride + top * g->y.dilation - g->y.head) * g->x.size * b->pixel;
    const float *w = b->w + NNF_DEPTHWISE_BLOCK * (1 + top * g->x.taps);
    for (size_t o = 0; o < g->x.out;) {
        size_t count = 1;
        left = 0;
        right = g->x.taps;
        if (o < inner || o >= outer)
            nnf_axis_taps(&g->x, o, &left, &right);
        else
            count = pixels_together(outer - o);
        const float *x = line + (o * g->x.stride + left * g->x.dilation - g->x.head) * b->pixel;
        const float *weight = w + left * NNF_DEPTHWISE_BLOCK;
        float *target = y + o * g->channels;
        switch (count) {
        case 8: pixels(g, b, 8, full, spread, x, weight, rows, right - left, target); break;
        case 7: pixels(g, b, 7, full, spread, x, weight, rows, right - left, target); break;
        case 6: pixels(g, b, 6, full, spread, x, weight, rows, right - left, target); break;
        case 5: pixels(g, b, 5, full, spread, x, weight, rows, right - left, target); break;
        case 4: pixels(g, b, 4, full, spread, x, weight, rows, right - left, target); break;
        case 3: pixels(g, b, 3, full, spread, x, weight, rows, right - left, target); break;
        case 2: pixels(g, b, 2, full, spread, x, weight, rows, right - left, target); break;
        default: pixels(g, b, 1, full, spread, x, weight, rows, right - left, target); break;
        }
        o += count;
    }
}

#include "depthwise_conv2d/depthwise_conv2d_flat_simd.h"

INLINE void put_first(const block *b, output *y, size_t lanes, V sum)
{
    nnf_store_f32_avx2(y, (ptrdiff_t)lanes, between(b->lo, b->hi, sum));
}

INLINE V read_pixel(const block *b, const float *x)
{
    (void)b;
    return fetch(x);
}

INLINE void put_pixel(const block *b, output *y, V sum) { store_whole(y, between(b->lo, b->hi, sum)); }

/* For a whole block where its sums are no more than the registers, so that all of a cache line is read while it is there and
 * twice as many sums hide the latency of an addition; or for 8 channels. */
WALK(walk_3x3, 3, 1, 1, 2)
WALK(walk_3x3_by_block, 3, 1, 2, 2)
WALK(walk_3x3_by_2, 3, 2, 1, 2)
WALK(walk_3x3_by_2_by_block, 3, 2, 2, 2)
WALK(walk_5x5, 5, 1, 1, 2)
WALK(walk_5x5_by_2, 5, 2, 1, 2)
WALK(walk_5x5_by_2_by_block, 5, 2, 2, 2)

/* The walk of so many halves of a block; NULL where there is none. */
INLINE walk_fn walk_of(const nnf_depthwise *g, int halves)
{
    if (halves == 2)
        return g->x.taps == 3 ? g->x.stride == 1 ? walk_3x3_by_block : walk_3x3_by_2_by_block
                              : g->x.stride == 1 ? NULL : walk_5x5_by_2_by_block;
    return g->x.taps == 3 ? g->x.stride == 1 ? walk_3x3 : walk_3x3_by_2 : g->x.stride == 1 ? walk_5x5 : walk_5x5_by_2;
}

void nnf_depthwise_conv2d_f32_nhwc__avx2_1x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                             size_t end, const float *x, const float *packed, float *y, float lo,
                                             float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * g->channels;
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    block b = {.pixel = depth, .out = g->channels, .lo = _mm256_set1_ps(lo), .hi = _mm256_set1_ps(hi)};
    const bool walks = walks_at_all(g);
    flat_weights few;
    const bool flat = is_flat(g, &b);
    if (flat)
        fill_flat(g, packed, &few);
    for (size_t row = first, rows, step; row < last; row += rows, y += rows * line) {
        rows = walks && last - row > 1 && has_walk(g, 2, row) ? 2 : 1;
        const bool goes = walks && has_walk(g, rows, row);
        const bool together = goes && walk_of(g, 2);
        for (size_t c = begin; c < end; c += step) {
            const size_t lanes = end - c < LANES ? end - c : LANES, source = c / g->multiplier;
            const size_t loaded = (c + lanes - 1) / g->multiplier - source + 1, lane = c % NNF_DEPTHWISE_BLOCK;
            const int halves = together && end - c >= NNF_DEPTHWISE_BLOCK ? 2 : 1;
            step = LANES * (size_t)halves;
            b.x = x + source;
            b.w = packed + (c - lane) * (1 + taps) + lane;
            b.load = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)loaded), count);
            b.lanes = (ptrdiff_t)lanes;
            if (g->multiplier > 1) {
                int32_t spread[LANES];
                for (size_t i = 0; i < LANES; i++)
                    spread[i] = (int32_t)((c + i) / g->multiplier - source);
                b.spread = _mm256_loadu_si256((const __m256i *)spread);
                any_row(g, &b, false, true, row, y + c);
            } else if (flat) {
                for (size_t i = 0; i < rows; i++)
                    flat_row(g, &b, &few, row + i, y + i * line);
            } else if (lanes == LANES && goes) {
                walk_of(g, halves)(g, &b, rows, row, y + c);
            } else if (rows == 2) {
                any_row(g, &b, false, false, row, y + c);
                any_row(g, &b, false, false, row + 1, y + line + c);
            } else if (lanes == LANES) {
                any_row(g, &b, true, false, row, y + c);
            } else {
                any_row(g, &b, false, false, row, y + c);
            }
        }
    }
}
