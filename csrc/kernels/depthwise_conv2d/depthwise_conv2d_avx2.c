#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/unroll.h"

#define LANES 8
/* Pixels of a multiple of so many floats lie in the same few sets of a cache, which does not hold a row of them. There
 * both halves of a block go together, so that a line of the cache is read once. */
#define COLLIDING 32

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

/* 3x3, stride 1: `rows` output rows together, 1 or 2, walking the image's columns, as in the AVX-512 file. */
INLINE void rows_3x3(const nnf_depthwise *g, const block *b, const int rows, size_t row, float *y)
{
    const __m256 bias = _mm256_loadu_ps(b->w);
    __m256 w[9], done[2], next[2];
    const float *line[4];
    NNF_UNROLL
    for (int t = 0; t < 9; t++)
        w[t] = _mm256_loadu_ps(b->w + (size_t)(1 + t) * NNF_DEPTHWISE_BLOCK);
    NNF_UNROLL
    for (int i = 0; i < rows + 2; i++) {
        const size_t at = row + (size_t)i - g->y.head; /* wraps above the image */
        line[i] = at < g->y.size ? b->x + at * g->x.size * b->pixel : NULL;
    }
    NNF_UNROLL
    for (int r = 0; r < rows; r++)
        done[r] = next[r] = bias;
    size_t offset = 0;
    for (size_t v = 0; v < g->x.out + 2; v++) {
        __m256 fresh[2];
        NNF_UNROLL
        for (int r = 0; r < rows; r++)
            fresh[r] = bias;
        if (v - g->x.head < g->x.size) {
            NNF_UNROLL
            for (int i = 0; i < rows + 2; i++) {
                if (!line[i])
                    continue;
                const __m256 value = _mm256_loadu_ps(line[i] + offset);
                NNF_UNROLL
                for (int r = 0; r < rows; r++) {
                    if (i < r || i > r + 2)
                        continue;
                    done[r] = _mm256_fmadd_ps(value, w[(i - r) * 3 + 2], done[r]);
                    next[r] = _mm256_fmadd_ps(value, w[(i - r) * 3 + 1], next[r]);
                    fresh[r] = _mm256_fmadd_ps(value, w[(i - r) * 3], fresh[r]);
                }
            }
            offset += b->pixel;
        }
        if (v >= 2) {
            NNF_UNROLL
            for (int r = 0; r < rows; r++)
                _mm256_storeu_ps(y + ((size_t)r * g->x.out + v - 2) * g->channels,
                                 _mm256_min_ps(b->hi, _mm256_max_ps(b->lo, done[r])));
        }
        NNF_UNROLL
        for (int r = 0; r < rows; r++) {
            done[r] = next[r];
            next[r] = fresh[r];
        }
    }
}

/* The same for a whole block, 16 channels, with the weights in memory: all of a cache line is read while it is there. */
INLINE void rows_3x3_of_block(const nnf_depthwise *g, const block *b, const int rows, size_t row, float *y)
{
    __m256 done[2][2], next[2][2];
    const float *line[4];
    NNF_UNROLL
    for (int i = 0; i < rows + 2; i++) {
        const size_t at = row + (size_t)i - g->y.head; /* wraps above the image */
        line[i] = at < g->y.size ? b->x + at * g->x.size * b->pixel : NULL;
    }
    NNF_UNROLL
    for (int k = 0; k < 2 * rows; k++)
        done[k / 2][k % 2] = next[k / 2][k % 2] = _mm256_loadu_ps(b->w + LANES * (k % 2));
    size_t offset = 0;
    for (size_t v = 0; v < g->x.out + 2; v++) {
        __m256 fresh[2][2];
        NNF_UNROLL
        for (int k = 0; k < 2 * rows; k++)
            fresh[k / 2][k % 2] = _mm256_loadu_ps(b->w + LANES * (k % 2));
        if (v - g->x.head < g->x.size) {
            NNF_UNROLL
            for (int i = 0; i < rows + 2; i++) {
                if (!line[i])
                    continue;
                NNF_UNROLL
                for (int h = 0; h < 2; h++) {
                    const __m256 value = _mm256_loadu_ps(line[i] + offset + LANES * h);
                    NNF_UNROLL
                    for (int r = 0; r < rows; r++) {
                        if (i < r || i > r + 2)
                            continue;
                        const float *w = b->w + (1 + (i - r) * 3) * NNF_DEPTHWISE_BLOCK + LANES * h;
                        done[r][h] = _mm256_fmadd_ps(value, _mm256_loadu_ps(w + 2 * NNF_DEPTHWISE_BLOCK), done[r][h]);
                        next[r][h] = _mm256_fmadd_ps(value, _mm256_loadu_ps(w + NNF_DEPTHWISE_BLOCK), next[r][h]);
                        fresh[r][h] = _mm256_fmadd_ps(value, _mm256_loadu_ps(w), fresh[r][h]);
                    }
                }
            }
            offset += b->pixel;
        }
        NNF_UNROLL
        for (int k = 0; k < 2 * rows; k++) {
            const int r = k / 2, h = k % 2;
            if (v >= 2)
                _mm256_storeu_ps(y + ((size_t)r * g->x.out + v - 2) * g->channels + LANES * h,
                                 _mm256_min_ps(b->hi, _mm256_max_ps(b->lo, done[r][h])));
            done[r][h] = next[r][h];
            next[r][h] = fresh[r][h];
        }
    }
}

/* One pixel of a 3x3 window, of which the columns left..right-1 are in the image; a chain of sums for each row. */
INLINE void pixel_3x3(const block *b, const int left, const int right, const __m256 *w, __m256 bias, const float *x,
                      size_t down, float *y)
{
    __m256 sum[3] = {bias, _mm256_setzero_ps(), _mm256_setzero_ps()};
    NNF_UNROLL
    for (int j = left; j < right; j++) {
        NNF_UNROLL
        for (int i = 0; i < 3; i++)
            sum[i] = _mm256_fmadd_ps(_mm256_loadu_ps(x + (size_t)i * down + (size_t)j * b->pixel), w[3 * i + j], sum[i]);
    }
    const __m256 all = _mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), sum[2]);
    _mm256_storeu_ps(y, _mm256_min_ps(b->hi, _mm256_max_ps(b->lo, all)));
}

/* Is a row that of 3x3 windows, with all rows of each in the image, and a column? Weights then stay in registers. */
INLINE bool is_3x3(const nnf_depthwise *g, size_t row)
{
    size_t top, bottom;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    return g->multiplier == 1 && g->x.taps == 3 && g->x.dilation == 1 && g->x.size >= 3 && g->x.head <= 1 &&
           (g->x.out - 1) * g->x.stride < g->x.size + g->x.head && g->y.taps == 3 && g->y.dilation == 1 &&
           bottom - top == 3;
}

INLINE void load_3x3(const float *from, __m256 *w, __m256 *bias)
{
    *bias = _mm256_loadu_ps(from);
    NNF_UNROLL
    for (int t = 0; t < 9; t++)
        w[t] = _mm256_loadu_ps(from + (size_t)(1 + t) * NNF_DEPTHWISE_BLOCK);
}

/* One pixel of 8 channels with these weights, or of 16 with those in memory. */
INLINE void halves_3x3(const block *b, const int halves, const int left, const int right, const __m256 *w, __m256 bias,
                       const float *x, size_t down, float *y)
{
    if (halves == 1) {
        pixel_3x3(b, left, right, w, bias, x, down, y);
        return;
    }
    NNF_UNROLL
    for (int h = 0; h < 2; h++) {
        __m256 own[9], start;
        load_3x3(b->w + LANES * h, own, &start);
        pixel_3x3(b, left, right, own, start, x + LANES * h, down, y + LANES * h);
    }
}

/* 8 channels of such a row, or 16. */
INLINE void row_3x3(const nnf_depthwise *g, const block *b, const int halves, size_t row, float *y)
{
    const float *line = b->x + (row * g->y.stride - g->y.head) * g->x.size * b->pixel;
    const size_t down = g->x.size * b->pixel, step = g->x.stride * b->pixel;
    __m256 w[9], bias;
    load_3x3(b->w, w, &bias);
    size_t inner, outer, o = 0;
    nnf_axis_full(&g->x, &inner, &outer);
    const float *x = line - g->x.head * b->pixel; /* perhaps before the image, where nothing is read */
    for (; o < inner; o++, x += step, y += g->channels)
        halves_3x3(b, halves, 1, 3, w, bias, x, down, y);
    for (; o < outer; o++, x += step, y += g->channels)
        halves_3x3(b, halves, 0, 3, w, bias, x, down, y);
    for (; o < g->x.out; o++, x += step, y += g->channels) {
        if (o * g->x.stride - g->x.head + 2 == g->x.size)
            halves_3x3(b, halves, 0, 2, w, bias, x, down, y);
        else
            halves_3x3(b, halves, 0, 1, w, bias, x, down, y);
    }
}

void nnf_depthwise_conv2d_f32_nhwc__avx2_1x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                             size_t end, const float *x, const float *packed, float *y, float lo,
                                             float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * g->channels;
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    block b = {.pixel = depth, .lo = _mm256_set1_ps(lo), .hi = _mm256_set1_ps(hi)};
    const bool walks = g->multiplier == 1 && g->y.taps == 3 && g->x.taps == 3 && g->y.stride == 1 && g->x.stride == 1 &&
                       g->y.dilation == 1 && g->x.dilation == 1;
    const bool collides = depth % COLLIDING == 0;
    for (size_t row = first, rows, step; row < last; row += rows, y += rows * line) {
        rows = walks && last - row > 1 ? 2 : 1;
        const bool small = is_3x3(g, row);
        for (size_t c = begin; c < end; c += step) {
            const size_t lanes = end - c < LANES ? end - c : LANES, source = c / g->multiplier;
            const size_t loaded = (c + lanes - 1) / g->multiplier - source + 1, lane = c % NNF_DEPTHWISE_BLOCK;
            const int halves = collides && (walks || small) && end - c >= NNF_DEPTHWISE_BLOCK ? 2 : 1;
            step = LANES * (size_t)halves;
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
            } else if (lanes == LANES && walks) {
                if (halves == 2 && rows == 2)
                    rows_3x3_of_block(g, &b, 2, row, y + c);
                else if (halves == 2)
                    rows_3x3_of_block(g, &b, 1, row, y + c);
                else if (rows == 2)
                    rows_3x3(g, &b, 2, row, y + c);
                else
                    rows_3x3(g, &b, 1, row, y + c);
            } else if (rows == 2) {
                any_row(g, &b, false, false, row, y + c);
                any_row(g, &b, false, false, row + 1, y + line + c);
            } else if (lanes == LANES && small) {
                if (halves == 2)
                    row_3x3(g, &b, 2, row, y + c);
                else
                    row_3x3(g, &b, 1, row, y + c);
            } else if (lanes == LANES) {
                any_row(g, &b, true, false, row, y + c);
            } else {
                any_row(g, &b, false, false, row, y + c);
            }
        }
    }
}
