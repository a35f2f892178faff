#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/unroll.h"

#define LANES 8

/* Half a block: 8 output channels, or fewer at the end of the image's channels. */
typedef struct block {
    const float *x, *w; /* first channel of the image; bias, then taps */
    size_t pixel;       /* floats between columns of the image */
    __m256i load, store, spread;
    __m256 lo, hi;
} block;

INLINE __m256 load(const block *b, const float *x, bool full, bool spread)
{
    const __m256 v = full ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, b->load);
    return spread ? _mm256_permutevar8x32_ps(v, b->spread) : v;
}

/* As in the AVX-512 file. */
INLINE void pixels(const nnf_depthwise *g, const block *b, const int count, bool full, bool spread, const float *x,
                   const float *w, size_t rows, size_t columns, float *y)
{
    const size_t step = g->x.stride * b->pixel, across = g->x.dilation * b->pixel;
    const size_t down = g->y.dilation * g->x.size * b->pixel;
    __m256 sum[8];
    for (int p = 0; p < count; p++)
        sum[p] = _mm256_loadu_ps(b->w);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const __m256 weight = _mm256_loadu_ps(w + (i * g->x.taps + j) * NNF_DEPTHWISE_BLOCK);
            const float *tap = x + i * down + j * across;
#pragma GCC unroll 8
            for (int p = 0; p < count; p++)
                sum[p] = _mm256_fmadd_ps(load(b, tap + (size_t)p * step, full, spread), weight, sum[p]);
        }
    }
#pragma GCC unroll 8
    for (int p = 0; p < count; p++) {
        /* min/max return the second operand when either is NaN, so that a NaN stays one. */
        const __m256 v = _mm256_min_ps(b->hi, _mm256_max_ps(b->lo, sum[p]));
        if (full)
            _mm256_storeu_ps(y + (size_t)p * g->channels, v);
        else
            _mm256_maskstore_ps(y + (size_t)p * g->channels, b->store, v);
    }
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
            count = outer - o >= 8 ? 8 : outer - o >= 4 ? 4 : 1;
        const float *x = line + (o * g->x.stride + left * g->x.dilation - g->x.head) * b->pixel;
        const float *weight = w + left * NNF_DEPTHWISE_BLOCK;
        float *target = y + o * g->channels;
        if (count == 8)
            pixels(g, b, 8, full, spread, x, weight, rows, right - left, target);
        else if (count == 4)
            pixels(g, b, 4, full, spread, x, weight, rows, right - left, target);
        else
            pixels(g, b, 1, full, spread, x, weight, rows, right - left, target);
        o += count;
    }
}

void nnf_depthwise_conv2d_f32_nhwc__avx2_1x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                             size_t end, const float *x, const float *packed, float *y, float lo,
                                             float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * g->channels;
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    block b = {.pixel = depth, .lo = _mm256_set1_ps(lo), .hi = _mm256_set1_ps(hi)};
    for (size_t row = first; row < last; row++, y += line) {
        for (size_t c = begin; c < end; c += LANES) {
            const size_t lanes = end - c < LANES ? end - c : LANES, source = c / g->multiplier;
            const size_t loaded = (c + lanes - 1) / g->multiplier - source + 1, lane = c % NNF_DEPTHWISE_BLOCK;
            b.x = x + source;
            b.w = packed + (c - lane) * (1 + taps) + lane;
            b.load = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)loaded), count);
            b.store = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes), count);
            if (g->multiplier > 1) {
                int32_t spread[LANES];
                for (size_t i = 0; i < LANES; i++)
                    spread[i] = (int32_t)((c + i) / g->multiplier - source);
                b.spread = _mm256_loadu_si256((const __m256i *)spread);
                any_row(g, &b, false, true, row, y + c);
            } else if (lanes == LANES) {
                any_row(g, &b, true, false, row, y + c);
            } else {
                any_row(g, &b, false, false, row, y + c);
            }
        }
    }
}
