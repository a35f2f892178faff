#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/partial_avx2.h"
#include "nnf/unroll.h"

#define LANES 8
enum {
    WIDEST = 5,     /* taps of a walk's windows, across and down */
    FLAT = 8,       /* vectors of a row of few channels that go together */
    FLAT_TAPS = 25, /* of a window of few channels whose weights are repeated */
    FLAT_PIXELS = 256, /* for which it pays to repeat them */
    LINES = 7       /* of the image under two rows of such windows at stride 2 */
};

/* Half a block: 8 output channels, or fewer at the end of the image's channels. */
typedef struct block {
    const float *x, *w; /* first channel of the image; bias, then taps */
    size_t pixel;       /* floats between columns of the image */
    __m256i load, spread;
    ptrdiff_t lanes; /* channels of an output */
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

/* Weights of fewer channels than there are lanes, for vectors that go through pixels of stride 1 without a gap: one
 * vector begins at any channel, but so many vectors later, `phases`, that comes again. */
typedef struct flat_weights {
    size_t phases;
    float w[1 + FLAT_TAPS][LANES + FLAT][LANES]; /* of the bias, then of each tap; those of a group follow each other */
} flat_weights;

INLINE void fill_flat(const nnf_depthwise *g, const float *w, flat_weights *f)
{
    f->phases = 1;
    while (f->phases * LANES % g->channels)
        f->phases++;
    for (size_t t = 0; t <= g->y.taps * g->x.taps; t++, w += NNF_DEPTHWISE_BLOCK) {
        for (size_t i = 0, c = 0; i < (f->phases + FLAT - 1) * LANES; i++, c = c + 1 < g->channels ? c + 1 : 0)
            f->w[t][i / LANES][i % LANES] = w[c];
    }
}

/* `count` vectors of outputs, or the first lanes of one. x: under the first tap. */
INLINE void flat_vectors(const nnf_depthwise *g, const block *b, const flat_weights *f, const int count, ptrdiff_t lanes,
                         size_t phase, size_t top, size_t rows, const float *x, float *y)
{
    const size_t across = g->x.dilation * b->pixel, down = g->y.dilation * g->x.size * b->pixel;
    const float (*w)[LANES + FLAT][LANES] = f->w + 1 + top * g->x.taps;
    const __m256i mask = nnf_lanes_avx2(lanes);
    __m256 sum[FLAT];
    NNF_UNROLL
    for (int v = 0; v < count; v++)
        sum[v] = _mm256_loadu_ps(f->w[0][phase + (size_t)v]);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < g->x.taps; j++, w++) {
            const float *at = x + i * down + j * across;
            NNF_UNROLL
            for (int v = 0; v < count; v++) {
                const __m256 value = count > 1 ? _mm256_loadu_ps(at + LANES * v) : _mm256_maskload_ps(at, mask);
                sum[v] = _mm256_fmadd_ps(value, _mm256_loadu_ps((*w)[phase + (size_t)v]), sum[v]);
            }
        }
    }
    NNF_UNROLL
    for (int v = 0; v < count; v++)
        nnf_store_f32_avx2(y + LANES * v, count > 1 ? LANES : lanes, _mm256_min_ps(b->hi, _mm256_max_ps(b->lo, sum[v])));
}

static __attribute__((noinline)) void flat_row(const nnf_depthwise *g, const block *b, const flat_weights *f, size_t row,
                                               float *y)
{
    size_t top, bottom, left, right, inner, outer;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    nnf_axis_full(&g->x, &inner, &outer);
    const size_t rows = bottom - top, n = (outer - inner) * g->channels;
    const float *line = b->x + (row * g->y.stride + top * g->y.dilation - g->y.head) * g->x.size * b->pixel;
    const float *w = b->w + NNF_DEPTHWISE_BLOCK * (1 + top * g->x.taps);
    for (size_t o = inner ? 0 : outer; o < g->x.out; o = o + 1 == inner ? outer : o + 1) {
        nnf_axis_taps(&g->x, o, &left, &right);
        pixels(g, b, 1, false, false, line + (o + left * g->x.dilation - g->x.head) * b->pixel,
               w + left * NNF_DEPTHWISE_BLOCK, rows, right - left, y + o * g->channels);
    }
    const float *x = line + (inner - g->x.head) * b->pixel;
    y += inner * g->channels;
    for (size_t e = 0, phase = 0, step; e < n; e += step * LANES, phase = (phase + step) % f->phases) {
        step = n - e >= FLAT * LANES ? FLAT : 1;
        if (step == FLAT)
            flat_vectors(g, b, f, FLAT, LANES, phase, top, rows, x + e, y + e);
        else
            flat_vectors(g, b, f, 1, (ptrdiff_t)(n - e), phase, top, rows, x + e, y + e);
    }
}

/* Are outputs with all taps in the image some vectors long in each of `rows` rows, and channels too few for one? */
INLINE bool is_flat(const nnf_depthwise *g, size_t rows)
{
    size_t inner, outer;
    nnf_axis_full(&g->x, &inner, &outer);
    return g->channels < LANES && g->multiplier == 1 && g->x.stride == 1 && g->y.taps * g->x.taps <= FLAT_TAPS &&
           (outer - inner) * g->channels >= FLAT * LANES && rows * (outer - inner) >= FLAT_PIXELS;
}

/* Sums of a walk, of each half of a block and each row: of the outputs that 0, 1, ... more steps complete. */
typedef struct sums {
    __m256 of[2][2][WIDEST];
} sums;

/* What a walk is compiled for: windows of taps x taps, halves of a block (1 or 2), output rows together (1 or 2), and of
 * the lines under their windows those that are in the image, from..to-1. */
typedef struct path {
    int taps, stride, halves, rows, from, to;
} path;

/* Outputs that a step of a walk adds to. */
INLINE int live(const path p) { return (p.taps + p.stride - 1) / p.stride; }

typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));

/* Eight floats into a register. gcc makes loads by intrinsics operands of the multiplications, and so loads again for each
 * of them. */
INLINE __m256 fetch(const float *from)
{
    __m256 v;
    __asm__ volatile("vmovups %1, %0" : "=x"(v) : "m"(*(const vector *)from));
    return v;
}

/* Adds a column of the image, number q of its step. Each of its vectors and each weight is loaded once. */
INLINE void add_column(sums *s, const block *b, const path p, const int q, const float *x, size_t down)
{
    const float *first = b->w + NNF_DEPTHWISE_BLOCK;
    /* Else gcc keeps an address for each weight, on the stack. */
    __asm__("" : "+r"(first));
    NNF_UNROLL
    for (int h = 0; h < p.halves; h++) {
        __m256 line[LINES];
        NNF_UNROLL
        for (int l = p.from; l < p.stride * (p.rows - 1); l++)
            line[l] = fetch(x + (size_t)l * down + LANES * h);
        NNF_UNROLL
        for (int i = 0; i < p.taps; i++) {
            const int newest = i + p.stride * (p.rows - 1); /* the line under the last row's tap */
            if (newest >= p.from && newest < p.to)
                line[newest] = fetch(x + (size_t)newest * down + LANES * h);
            NNF_UNROLL
            for (int t = q; t < p.taps; t += p.stride) {
                const __m256 w = fetch(first + (i * p.taps + t) * NNF_DEPTHWISE_BLOCK + LANES * h);
                NNF_UNROLL
                for (int r = 0; r < p.rows; r++) {
                    const int l = i + p.stride * r;
                    if (l < p.from || l >= p.to)
                        continue;
                    __m256 *sum = &s->of[h][r][live(p) - 1 - t / p.stride];
                    *sum = _mm256_fmadd_ps(line[l], w, *sum);
                }
            }
        }
    }
}

/* Writes the sums that are complete. */
INLINE void put_column(const sums *s, const block *b, const path p, float *y, size_t line)
{
    const __m256 lo = b->lo, hi = b->hi;
    NNF_UNROLL
    for (int r = 0; r < p.rows; r++) {
        NNF_UNROLL
        for (int h = 0; h < p.halves; h++)
            _mm256_storeu_ps(y + (size_t)r * line + LANES * h, _mm256_min_ps(hi, _mm256_max_ps(lo, s->of[h][r][0])));
    }
}

/* All outputs begin with their bias. */
INLINE void begin_outputs(sums *s, const block *b, const path p)
{
    NNF_UNROLL
    for (int h = 0; h < p.halves; h++) {
        NNF_UNROLL
        for (int r = 0; r < p.rows; r++) {
            NNF_UNROLL
            for (int k = 0; k < live(p); k++)
                s->of[h][r][k] = _mm256_loadu_ps(b->w + LANES * h);
        }
    }
}

/* To the next step: each output is one step nearer to complete, and a new one begins with its bias. */
INLINE void move_on(sums *s, const block *b, const path p)
{
    NNF_UNROLL
    for (int h = 0; h < p.halves; h++) {
        NNF_UNROLL
        for (int r = 0; r < p.rows; r++) {
            NNF_UNROLL
            for (int k = 1; k < live(p); k++)
                s->of[h][r][k - 1] = s->of[h][r][k];
            s->of[h][r][live(p) - 1] = _mm256_loadu_ps(b->w + LANES * h);
        }
    }
}

/* The steps of a walk at stride 1. x: of the first column of the image. */
INLINE void steps_by_1(const nnf_depthwise *g, const block *given, sums *s, const path p, const float *x, float *y)
{
    const block local = *given, *b = p.taps == 5 ? &local : given; /* 5x5 leaves registers for the limits */
    const size_t down = g->x.size * b->pixel, line = g->x.out * g->channels, warm = (size_t)live(p) - 1;
    const size_t last = g->x.out + warm, begin = g->x.head < last ? g->x.head : last;
    const size_t end = g->x.size < last - begin ? begin + g->x.size : last;
    size_t v = 0;
    for (; v < begin; v++) {
        if (v >= warm) {
            put_column(s, b, p, y, line);
            y += g->channels;
        }
    }
    for (; v < end && v < warm; v++, x += b->pixel) {
        add_column(s, b, p, 0, x, down);
        move_on(s, b, p);
    }
    for (; v < end; v++, x += b->pixel, y += g->channels) {
        add_column(s, b, p, 0, x, down);
        put_column(s, b, p, y, line);
        move_on(s, b, p);
    }
    for (; v < last; v++) {
        if (v >= warm) {
            put_column(s, b, p, y, line);
            y += g->channels;
        }
        move_on(s, b, p);
    }
}

/* The same at stride 2, where a step at an edge may have one of its columns in the image: it asks. x: of the first
 * window's first column, perhaps before the image, where nothing is read. */
INLINE void steps_by_2(const nnf_depthwise *g, const block *given, sums *s, const path p, const float *x, float *y)
{
    const block local = *given, *b = &local; /* stores to y cannot change it: it stays in registers */
    const size_t channels = g->channels, pixel = b->pixel, down = g->x.size * pixel, line = g->x.out * channels;
    const size_t warm = (size_t)live(p) - 1, last = g->x.out + warm, head = (g->x.head + 1) / 2;
    const size_t begin = head > warm ? head : warm, all = (g->x.head + g->x.size) / 2, end = all < last ? all : last;
    for (size_t v = 0; v < last; v++, x += 2 * pixel) {
        if (v == begin) {
            for (; v < end; v++, x += 2 * pixel, y += channels) {
                add_column(s, b, p, 0, x, down);
                add_column(s, b, p, 1, x + pixel, down);
                put_column(s, b, p, y, line);
                move_on(s, b, p);
            }
            if (v == last)
                break;
        }
        if (2 * v - g->x.head < g->x.size)
            add_column(s, b, p, 0, x, down);
        if (2 * v + 1 - g->x.head < g->x.size)
            add_column(s, b, p, 1, x + pixel, down);
        if (v >= warm) {
            put_column(s, b, p, y, line);
            y += channels;
        }
        move_on(s, b, p);
    }
}

/* 3x3 or 5x5: walks the image's columns, `stride` in a step: each value that is loaded is added to the outputs of all
 * windows that it lies in. For a whole block where its sums are no more than the registers, so that all of a cache line is
 * read while it is there and twice as many sums hide the latency of an addition; or for 8 channels. */
INLINE void walk_rows(const nnf_depthwise *g, const block *b, const path p, size_t row, float *y)
{
    const size_t down = g->x.size * b->pixel;
    const float *x = b->x + row * g->y.stride * down - g->y.head * down; /* perhaps above the image: not read there */
    sums s;
    begin_outputs(&s, b, p);
    if (p.stride == 1)
        steps_by_1(g, b, &s, p, x, y);
    else
        steps_by_2(g, b, &s, p, x - g->x.head * b->pixel, y);
}

/* Lines under the windows of some output rows that are above the image, and below it. */
typedef struct padding {
    size_t above, below;
} padding;

INLINE padding padding_of(const nnf_depthwise *g, size_t rows, size_t row)
{
    const size_t start = row * g->y.stride, end = start + (rows - 1) * g->y.stride + g->y.taps;
    const size_t bottom = g->y.size + g->y.head;
    return (padding){g->y.head > start ? g->y.head - start : 0, end > bottom ? end - bottom : 0};
}

/* Are there walks for rows with so many lines in the padding? */
INLINE bool has_walk(const nnf_depthwise *g, size_t rows, size_t row)
{
    const padding p = padding_of(g, rows, row);
    return p.above + p.below <= g->y.taps / 2 && (!p.above || !p.below);
}

/* Such rows, by the loop for their lines in the padding. */
INLINE void walk(const nnf_depthwise *g, const block *b, const int taps, const int stride, const int halves,
                 const int rows, size_t row, float *y)
{
    const padding p = padding_of(g, (size_t)rows, row);
    const int under = stride * (rows - 1) + taps;
    if (p.above == 1)
        walk_rows(g, b, (path){taps, stride, halves, rows, 1, under}, row, y);
    else if (p.below == 1)
        walk_rows(g, b, (path){taps, stride, halves, rows, 0, under - 1}, row, y);
    else if (taps > 3 && p.above == 2)
        walk_rows(g, b, (path){taps, stride, halves, rows, 2, under}, row, y);
    else if (taps > 3 && p.below == 2)
        walk_rows(g, b, (path){taps, stride, halves, rows, 0, under - 2}, row, y);
    else
        walk_rows(g, b, (path){taps, stride, halves, rows, 0, under}, row, y);
}

/* Each loop in a function of its own: together they make gcc move registers. */
#define WALK(name, taps, stride, halves)                                                                               \
    static __attribute__((noinline)) void name(const nnf_depthwise *g, const block *b, size_t rows, size_t row,        \
                                               float *y)                                                               \
    {                                                                                                                  \
        if (rows == 2)                                                                                                 \
            walk(g, b, taps, stride, halves, 2, row, y);                                                               \
        else                                                                                                           \
            walk(g, b, taps, stride, halves, 1, row, y);                                                               \
    }
WALK(walk_3x3, 3, 1, 1)
WALK(walk_3x3_by_block, 3, 1, 2)
WALK(walk_3x3_by_2, 3, 2, 1)
WALK(walk_3x3_by_2_by_block, 3, 2, 2)
WALK(walk_5x5, 5, 1, 1)
WALK(walk_5x5_by_2, 5, 2, 1)
WALK(walk_5x5_by_2_by_block, 5, 2, 2)

typedef void (*walk_fn)(const nnf_depthwise *g, const block *b, size_t rows, size_t row, float *y);

/* The walk of so many halves of a block; NULL where there is none. */
INLINE walk_fn walk_of(const nnf_depthwise *g, int halves)
{
    if (halves == 2)
        return g->x.taps == 3 ? g->x.stride == 1 ? walk_3x3_by_block : walk_3x3_by_2_by_block
                              : g->x.stride == 1 ? NULL : walk_5x5_by_2_by_block;
    return g->x.taps == 3 ? g->x.stride == 1 ? walk_3x3 : walk_3x3_by_2 : g->x.stride == 1 ? walk_5x5 : walk_5x5_by_2;
}

/* Are all windows of a kind that has walks? */
INLINE bool walks_at_all(const nnf_depthwise *g)
{
    return g->multiplier == 1 && (g->y.taps == 3 || g->y.taps == 5) && g->x.taps == g->y.taps && g->y.stride <= 2 &&
           g->x.stride == g->y.stride && g->y.dilation == 1 && g->x.dilation == 1;
}

void nnf_depthwise_conv2d_f32_nhwc__avx2_1x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                             size_t end, const float *x, const float *packed, float *y, float lo,
                                             float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, line = g->x.out * g->channels;
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    block b = {.pixel = depth, .lo = _mm256_set1_ps(lo), .hi = _mm256_set1_ps(hi)};
    const bool walks = walks_at_all(g);
    flat_weights few;
    const bool flat = is_flat(g, last - first);
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
