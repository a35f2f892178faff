/* Walks over the columns of an image of float32, for 3x3 and 5x5 windows of stride 1 and 2. Include after
 * nnf/simd/f32_<isa>.h and the types
 *   output    an element of y
 *   block     the channels of a walk: const float *x, *w (first channel of the image; bias, then taps), size_t pixel, out
 *             (floats between columns of the image, outputs between those of y), and what the two functions below need */
#ifndef NNF_DEPTHWISE_CONV2D_WALK_SIMD_H
#define NNF_DEPTHWISE_CONV2D_WALK_SIMD_H

#include <stdbool.h>

#include "depthwise_conv2d/depthwise_conv2d.h"
#include "nnf/unroll.h"

enum {
    WIDEST = 5,    /* taps of a window, across and down */
    MOST_ROWS = 4, /* output rows that go together */
    LINES = 11     /* of the image under so many rows of such windows at stride 2 */
};

/* Sums of each half of a block and each row: of the outputs that 0, 1, ... more steps complete. */
typedef struct sums {
    V of[2][MOST_ROWS][WIDEST];
} sums;

/* What a walk is compiled for: windows of taps x taps, vectors of a block (1 or 2), output rows together (1, 2 or 4), and
 * of the lines under their windows those that are in the image, from..to-1. */
typedef struct path {
    int taps, stride, vectors, rows, from, to;
} path;

/* Outputs that a step adds to. */
INLINE int live(const path p) { return (p.taps + p.stride - 1) / p.stride; }

/* Of the file that includes this: a vector of the image, in a register, and writing sums within their limits. */
INLINE V read_pixel(const block *b, const float *x);
INLINE void put_pixel(const block *b, output *y, V sum);

/* A vector into a register. gcc makes loads by intrinsics operands of the multiplications, and so loads again for each. */
INLINE V fetch(const float *from)
{
    V v;
    __asm__ volatile("vmovups %1, %0" : "=v"(v) : "m"(*(const float (*)[LANES])from));
    return v;
}

/* Adds a column of the image, number q of its step. Each of its vectors and each weight is loaded once. */
INLINE void add_column(sums *s, const block *b, const path p, const int q, const float *x, size_t down)
{
    const float *first = b->w + NNF_DEPTHWISE_BLOCK;
    /* Else gcc keeps an address for each weight, on the stack. */
    __asm__("" : "+r"(first));
    NNF_UNROLL
    for (int h = 0; h < p.vectors; h++) {
        V line[LINES];
        NNF_UNROLL
        for (int l = p.from; l < p.stride * (p.rows - 1); l++)
            line[l] = read_pixel(b, x + (size_t)l * down + LANES * h);
        NNF_UNROLL
        for (int i = 0; i < p.taps; i++) {
            const int newest = i + p.stride * (p.rows - 1); /* the line under the last row's tap */
            if (newest >= p.from && newest < p.to)
                line[newest] = read_pixel(b, x + (size_t)newest * down + LANES * h);
            NNF_UNROLL
            for (int t = q; t < p.taps; t += p.stride) {
                const V w = fetch(first + (i * p.taps + t) * NNF_DEPTHWISE_BLOCK + LANES * h);
                NNF_UNROLL
                for (int r = 0; r < p.rows; r++) {
                    const int l = i + p.stride * r;
                    if (l < p.from || l >= p.to)
                        continue;
                    V *sum = &s->of[h][r][live(p) - 1 - t / p.stride];
                    *sum = fmadd(line[l], w, *sum);
                }
            }
        }
    }
}

/* Writes the sums that are complete. */
INLINE void put_column(const sums *s, const block *b, const path p, output *y, size_t line)
{
    NNF_UNROLL
    for (int r = 0; r < p.rows; r++) {
        NNF_UNROLL
        for (int h = 0; h < p.vectors; h++)
            put_pixel(b, y + (size_t)r * line + LANES * h, s->of[h][r][0]);
    }
}

/* All outputs begin with their bias. */
INLINE void begin_outputs(sums *s, const block *b, const path p)
{
    NNF_UNROLL
    for (int h = 0; h < p.vectors; h++) {
        NNF_UNROLL
        for (int r = 0; r < p.rows; r++) {
            NNF_UNROLL
            for (int k = 0; k < live(p); k++)
                s->of[h][r][k] = load_whole(b->w + LANES * h);
        }
    }
}

/* To the next step: each output is one step nearer to complete, and a new one begins. */
INLINE void move_on(sums *s, const block *b, const path p)
{
    NNF_UNROLL
    for (int h = 0; h < p.vectors; h++) {
        NNF_UNROLL
        for (int r = 0; r < p.rows; r++) {
            NNF_UNROLL
            for (int k = 1; k < live(p); k++)
                s->of[h][r][k - 1] = s->of[h][r][k];
            s->of[h][r][live(p) - 1] = load_whole(b->w + LANES * h);
        }
    }
}

/* The steps of a walk at stride 1. x: of the first column of the image. */
INLINE void steps_by_1(const nnf_depthwise *g, const block *b, sums *s, const path p, const float *x, output *y)
{
    const size_t down = g->x.size * b->pixel, line = g->x.out * b->out, warm = (size_t)live(p) - 1;
    const size_t last = g->x.out + warm, begin = g->x.head < last ? g->x.head : last;
    const size_t end = g->x.size < last - begin ? begin + g->x.size : last;
    size_t v = 0;
    for (; v < begin; v++) {
        if (v >= warm) {
            put_column(s, b, p, y, line);
            y += b->out;
        }
    }
    for (; v < end && v < warm; v++, x += b->pixel) {
        add_column(s, b, p, 0, x, down);
        move_on(s, b, p);
    }
    for (; v < end; v++, x += b->pixel, y += b->out) {
        add_column(s, b, p, 0, x, down);
        put_column(s, b, p, y, line);
        move_on(s, b, p);
    }
    for (; v < last; v++) {
        if (v >= warm) {
            put_column(s, b, p, y, line);
            y += b->out;
        }
        move_on(s, b, p);
    }
}

/* The same at stride 2, where a step at an edge may have one of its columns in the image: it asks. x: of the first
 * window's first column, perhaps before the image, where nothing is read. */
INLINE void steps_by_2(const nnf_depthwise *g, const block *b, sums *s, const path p, const float *x, output *y)
{
    const size_t pixel = b->pixel, out = b->out, down = g->x.size * pixel, line = g->x.out * out;
    const size_t warm = (size_t)live(p) - 1, last = g->x.out + warm, head = (g->x.head + 1) / 2;
    const size_t begin = head > warm ? head : warm, all = (g->x.head + g->x.size) / 2, end = all < last ? all : last;
    for (size_t v = 0; v < last; v++, x += 2 * pixel) {
        if (v == begin) {
            for (; v < end; v++, x += 2 * pixel, y += out) {
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
            y += out;
        }
        move_on(s, b, p);
    }
}

/* Walks the image's columns, `stride` in a step: each value that is loaded is added to the outputs of all windows that it
 * lies in. */
INLINE void walk_rows(const nnf_depthwise *g, const block *given, const path p, size_t row, output *y)
{
    const block local = *given, *b = &local; /* stores to y cannot change it: it stays in registers */
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

/* Are all windows of a kind that has walks? */
INLINE bool walks_at_all(const nnf_depthwise *g)
{
    return g->multiplier == 1 && (g->y.taps == 3 || g->y.taps == 5) && g->x.taps == g->y.taps && g->y.stride <= 2 &&
           g->x.stride == g->y.stride && g->y.dilation == 1 && g->x.dilation == 1;
}

/* Are there walks for rows with so many lines in the padding? */
INLINE bool has_walk(const nnf_depthwise *g, size_t rows, size_t row)
{
    const padding p = padding_of(g, rows, row);
    return p.above + p.below <= g->y.taps / 2 && (!p.above || !p.below);
}

/* Such rows, by the loop for their lines in the padding. */
INLINE void walk(const nnf_depthwise *g, const block *b, const int taps, const int stride, const int vectors,
                 const int rows, size_t row, output *y)
{
    const padding p = padding_of(g, (size_t)rows, row);
    const int under = stride * (rows - 1) + taps;
    if (p.above == 1)
        walk_rows(g, b, (path){taps, stride, vectors, rows, 1, under}, row, y);
    else if (p.below == 1)
        walk_rows(g, b, (path){taps, stride, vectors, rows, 0, under - 1}, row, y);
    else if (taps > 3 && p.above == 2)
        walk_rows(g, b, (path){taps, stride, vectors, rows, 2, under}, row, y);
    else if (taps > 3 && p.below == 2)
        walk_rows(g, b, (path){taps, stride, vectors, rows, 0, under - 2}, row, y);
    else
        walk_rows(g, b, (path){taps, stride, vectors, rows, 0, under}, row, y);
}

typedef void (*walk_fn)(const nnf_depthwise *g, const block *b, size_t rows, size_t row, output *y);

/* A walk of up to `most` rows, in a function of its own: together they make gcc move registers. */
#define WALK(name, taps, stride, vectors, most)                                                                        \
    static __attribute__((noinline)) void name(const nnf_depthwise *g, const block *b, size_t rows, size_t row,        \
                                               output *y)                                                              \
    {                                                                                                                  \
        if (most == 4 && rows == 4)                                                                                    \
            walk(g, b, taps, stride, vectors, most, row, y);                                                           \
        else if (rows == 2)                                                                                            \
            walk(g, b, taps, stride, vectors, 2, row, y);                                                              \
        else                                                                                                           \
            walk(g, b, taps, stride, vectors, 1, row, y);                                                              \
    }

#endif
