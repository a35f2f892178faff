#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/tuning.h"
#include "nnf/unroll.h"

#define LANES 8
enum {
    WIDEST = 5,     /* taps of a walk's windows, across and down */
    PAGE = 4096,    /* bytes after which the sets of a level 1 cache come again */
    COLLIDING = 128 /* pixels a multiple of so many floats apart lie in few of those sets */
};

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

/* Taps of a row of the window for `count` pixels, `step` floats apart. */
INLINE void add_taps(const block *b, __m256 *sum, const int count, bool full, bool spread, const float *x, size_t step,
                     const float *w)
{
    const __m256 weight = _mm256_loadu_ps(w);
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        sum[p] = _mm256_fmadd_ps(load(b, x + (size_t)p * step, full, spread), weight, sum[p]);
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

/* Sums of a walk, of each half of a block and each row: of the outputs that 0, 1, ... more columns complete. */
typedef struct sums {
    __m256 of[2][2][WIDEST];
} sums;

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));

/* sum += x * w, from memory. Of intrinsics gcc loads all weights of a block first, and moves them to the stack. */
INLINE void add_product(__m256 *sum, __m256 x, const float *w)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(x), "m"(*(const vector *)w));
}

/* The walk goes on by a column of the image: the lines from..to-1 of those under the windows. own: weights of windows of
 * three taps and half a block, those of others come from memory. */
INLINE void add_column(sums *s, const block *b, const __m256 *own, const int taps, const int halves, const int rows,
                       const int from, const int to, const float *x, size_t down)
{
    const float *first = b->w + NNF_DEPTHWISE_BLOCK;
    /* Else gcc keeps an address for each weight, on the stack. */
    __asm__("" : "+r"(first));
    NNF_UNROLL
    for (int i = from; i < to; i++) {
        NNF_UNROLL
        for (int h = 0; h < halves; h++) {
            const __m256 value = _mm256_loadu_ps(x + (size_t)i * down + LANES * h);
            NNF_UNROLL
            for (int r = 0; r < rows; r++) {
                if (i < r || i >= r + taps)
                    continue;
                NNF_UNROLL
                for (int k = 0; k < taps; k++) {
                    const int tap = (i - r) * taps + taps - 1 - k;
                    if (taps == 3 && halves == 1)
                        s->of[h][r][k] = _mm256_fmadd_ps(value, own[tap], s->of[h][r][k]);
                    else
                        add_product(&s->of[h][r][k], value, first + tap * NNF_DEPTHWISE_BLOCK + LANES * h);
                }
            }
        }
    }
}

/* Writes the sums that are complete. */
INLINE void put_column(const sums *s, const block *b, const int halves, const int rows, float *y, size_t line)
{
    NNF_UNROLL
    for (int r = 0; r < rows; r++) {
        NNF_UNROLL
        for (int h = 0; h < halves; h++)
            _mm256_storeu_ps(y + (size_t)r * line + LANES * h,
                             _mm256_min_ps(b->hi, _mm256_max_ps(b->lo, s->of[h][r][0])));
    }
}

/* To the next column: each output is one column nearer to complete, and a new one begins with its bias. */
INLINE void move_on(sums *s, const block *b, const int taps, const int halves, const int rows)
{
    NNF_UNROLL
    for (int h = 0; h < halves; h++) {
        NNF_UNROLL
        for (int r = 0; r < rows; r++) {
            NNF_UNROLL
            for (int k = 1; k < taps; k++)
                s->of[h][r][k - 1] = s->of[h][r][k];
            s->of[h][r][taps - 1] = _mm256_loadu_ps(b->w + LANES * h);
        }
    }
}

/* 3x3 or 5x5, stride 1: `rows` output rows together, 1 or 2, walking the image's columns: each value that is loaded is
 * added to the outputs of all windows that it lies in. For 8 channels, or for a whole block of 3x3, so that all of a
 * cache line is read while it is there. The lines from..to-1 of those under the windows are in the image. */
INLINE void walk_rows(const nnf_depthwise *g, const block *b, const int taps, const int halves, const int rows,
                      const int from, const int to, size_t row, float *y)
{
    const size_t down = g->x.size * b->pixel, line = g->x.out * g->channels, warm = (size_t)taps - 1;
    const size_t last = g->x.out + warm, begin = g->x.head < last ? g->x.head : last;
    const size_t end = g->x.size < last - begin ? begin + g->x.size : last;
    const float *x = b->x + row * down - g->y.head * down; /* perhaps above the image, where nothing is read */
    __m256 own[9];
    sums s;
    if (taps == 3 && halves == 1) {
        NNF_UNROLL
        for (int t = 0; t < 9; t++)
            own[t] = _mm256_loadu_ps(b->w + (size_t)(1 + t) * NNF_DEPTHWISE_BLOCK);
    }
    NNF_UNROLL
    for (int k = 0; k < taps; k++)
        move_on(&s, b, taps, halves, rows);
    size_t v = 0;
    for (; v < begin; v++) {
        if (v >= warm) {
            put_column(&s, b, halves, rows, y, line);
            y += g->channels;
        }
    }
    for (; v < end && v < warm; v++, x += b->pixel) {
        add_column(&s, b, own, taps, halves, rows, from, to, x, down);
        move_on(&s, b, taps, halves, rows);
    }
    for (; v < end; v++, x += b->pixel, y += g->channels) {
        add_column(&s, b, own, taps, halves, rows, from, to, x, down);
        put_column(&s, b, halves, rows, y, line);
        move_on(&s, b, taps, halves, rows);
    }
    for (; v < last; v++) {
        if (v >= warm) {
            put_column(&s, b, halves, rows, y, line);
            y += g->channels;
        }
        move_on(&s, b, taps, halves, rows);
    }
}

/* Lines under the windows of some output rows that are above the image, and below it. */
typedef struct padding {
    size_t above, below;
} padding;

INLINE padding padding_of(const nnf_depthwise *g, size_t rows, size_t row)
{
    const size_t end = row + rows + g->y.taps - 1, bottom = g->y.size + g->y.head;
    return (padding){g->y.head > row ? g->y.head - row : 0, end > bottom ? end - bottom : 0};
}

/* Are there walks for rows with so many lines in the padding? */
INLINE bool has_walk(const nnf_depthwise *g, size_t rows, size_t row)
{
    const padding p = padding_of(g, rows, row);
    return p.above + p.below <= g->y.taps / 2 && (!p.above || !p.below);
}

/* Such rows, by the loop for their lines in the padding. */
INLINE void walk(const nnf_depthwise *g, const block *b, const int taps, const int halves, const int rows, size_t row,
                 float *y)
{
    const padding p = padding_of(g, (size_t)rows, row);
    const int under = rows + taps - 1;
    if (p.above == 1)
        walk_rows(g, b, taps, halves, rows, 1, under, row, y);
    else if (p.below == 1)
        walk_rows(g, b, taps, halves, rows, 0, under - 1, row, y);
    else if (taps > 3 && p.above == 2)
        walk_rows(g, b, taps, halves, rows, 2, under, row, y);
    else if (taps > 3 && p.below == 2)
        walk_rows(g, b, taps, halves, rows, 0, under - 2, row, y);
    else
        walk_rows(g, b, taps, halves, rows, 0, under, row, y);
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

/* Do both halves of a block go together, so that a line of the cache is read once? Pixels of a multiple of so many floats
 * lie in few sets of the level 1 cache: it may not hold those that `rows` output rows read and write until the other half
 * comes. */
INLINE bool collides(const nnf_depthwise *g, size_t rows)
{
    const size_t pixel = g->channels * sizeof(float), even = pixel & (0 - pixel); /* the largest power of 2 in it */
    const size_t sets = even < PAGE ? PAGE / even : 1, ways = nnf_sizes.level1 / PAGE;
    const size_t read = (rows - 1) * g->y.stride + g->y.taps;
    return g->channels % COLLIDING == 0 && read * g->x.size + rows * g->x.out > sets * ways;
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

/* Each loop in a function of its own: together they make gcc move registers. */
#define APART static __attribute__((noinline)) void
APART one_by_half(const nnf_depthwise *g, const block *b, size_t row, float *y) { row_3x3(g, b, 1, row, y); }
APART one_by_block(const nnf_depthwise *g, const block *b, size_t row, float *y) { row_3x3(g, b, 2, row, y); }

APART walk_3x3(const nnf_depthwise *g, const block *b, size_t rows, size_t row, float *y)
{
    if (rows == 2)
        walk(g, b, 3, 1, 2, row, y);
    else
        walk(g, b, 3, 1, 1, row, y);
}

APART walk_3x3_by_block(const nnf_depthwise *g, const block *b, size_t rows, size_t row, float *y)
{
    if (rows == 2)
        walk(g, b, 3, 2, 2, row, y);
    else
        walk(g, b, 3, 2, 1, row, y);
}

APART walk_5x5(const nnf_depthwise *g, const block *b, size_t rows, size_t row, float *y)
{
    if (rows == 2)
        walk(g, b, 5, 1, 2, row, y);
    else
        walk(g, b, 5, 1, 1, row, y);
}

void nnf_depthwise_conv2d_f32_nhwc__avx2_1x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                             size_t end, const float *x, const float *packed, float *y, float lo,
                                             float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * g->channels;
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    block b = {.pixel = depth, .lo = _mm256_set1_ps(lo), .hi = _mm256_set1_ps(hi)};
    const bool square = g->multiplier == 1 && (g->y.taps == 3 || g->y.taps == 5) && g->x.taps == g->y.taps;
    const bool walks = square && g->y.stride == 1 && g->x.stride == 1 && g->y.dilation == 1 && g->x.dilation == 1;
    for (size_t row = first, rows, step; row < last; row += rows, y += rows * line) {
        rows = walks && last - row > 1 && has_walk(g, 2, row) ? 2 : 1;
        const bool goes = walks && has_walk(g, rows, row), small = is_3x3(g, row);
        const bool together = g->x.taps == 3 && (goes || small) && collides(g, rows);
        for (size_t c = begin; c < end; c += step) {
            const size_t lanes = end - c < LANES ? end - c : LANES, source = c / g->multiplier;
            const size_t loaded = (c + lanes - 1) / g->multiplier - source + 1, lane = c % NNF_DEPTHWISE_BLOCK;
            const int halves = together && end - c >= NNF_DEPTHWISE_BLOCK ? 2 : 1;
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
            } else if (lanes == LANES && goes) {
                (taps > 9 ? walk_5x5 : halves == 2 ? walk_3x3_by_block : walk_3x3)(g, &b, rows, row, y + c);
            } else if (rows == 2) {
                any_row(g, &b, false, false, row, y + c);
                any_row(g, &b, false, false, row + 1, y + line + c);
            } else if (lanes == LANES && small) {
                (halves == 2 ? one_by_block : one_by_half)(g, &b, row, y + c);
            } else if (lanes == LANES) {
                any_row(g, &b, true, false, row, y + c);
            } else {
                any_row(g, &b, false, false, row, y + c);
            }
        }
    }
}
