/* Depthwise convolutions of so few channels that a pixel does not fill a vector, at stride 1. Include after what
 * depthwise_conv2d_walk_simd.h asks for, and `pixels`, one output of any taps. */
#ifndef NNF_DEPTHWISE_CONV2D_FLAT_SIMD_H
#define NNF_DEPTHWISE_CONV2D_FLAT_SIMD_H

#include <stdbool.h>

#include "depthwise_conv2d/depthwise_conv2d.h"
#include "nnf/unroll.h"

enum {
    FEW = 8,          /* channels, from which on pixels are vectors */
    FLAT = 8,         /* vectors of a row that go together */
    FLAT_TAPS = 25,   /* of a window whose weights are repeated */
    FLAT_PIXELS = 256 /* for which it pays to repeat them */
};

/* Of the file that includes this: writes the first lanes of sums within their limits. */
INLINE void put_first(const block *b, output *y, size_t lanes, V sum);

/* Weights of fewer channels than there are lanes, for vectors that go through pixels of stride 1 without a gap: one
 * vector begins at any channel, but so many vectors later, `phases`, that comes again. */
typedef struct flat_weights {
    size_t phases;
    float w[1 + FLAT_TAPS][FEW + FLAT][LANES]; /* of the bias, then of each tap; those of a group follow each other */
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
INLINE void flat_vectors(const nnf_depthwise *g, const block *b, const flat_weights *f, const int count, size_t lanes,
                         size_t phase, size_t top, size_t rows, const float *x, output *y)
{
    const size_t across = g->x.dilation * b->pixel, down = g->y.dilation * g->x.size * b->pixel;
    const float (*w)[FEW + FLAT][LANES] = f->w + 1 + top * g->x.taps;
    const M live = first_lanes(lanes);
    V sum[FLAT];
    NNF_UNROLL
    for (int v = 0; v < count; v++)
        sum[v] = load_whole(f->w[0][phase + (size_t)v]);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < g->x.taps; j++, w++) {
            const float *at = x + i * down + j * across;
            NNF_UNROLL
            for (int v = 0; v < count; v++) {
                const V value = count > 1 ? load_whole(at + LANES * v) : load(live, at);
                sum[v] = fmadd(value, load_whole((*w)[phase + (size_t)v]), sum[v]);
            }
        }
    }
    NNF_UNROLL
    for (int v = 0; v < count; v++)
        put_first(b, y + LANES * v, count > 1 ? LANES : lanes, sum[v]);
}

static __attribute__((noinline)) void flat_row(const nnf_depthwise *g, const block *b, const flat_weights *f, size_t row,
                                               output *y)
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
            flat_vectors(g, b, f, 1, n - e < LANES ? n - e : LANES, phase, top, rows, x + e, y + e);
    }
}

/* Are outputs with all taps in the image, without gaps, some vectors long in each row, of few channels? Not by the rows
 * of a share: sums are added up in another order here, and must not depend on the number of threads. */
INLINE bool is_flat(const nnf_depthwise *g, const block *b)
{
    size_t inner, outer;
    nnf_axis_full(&g->x, &inner, &outer);
    return g->channels < FEW && b->out == g->channels && g->multiplier == 1 && g->x.stride == 1 &&
           g->y.taps * g->x.taps <= FLAT_TAPS &&
           (outer - inner) * g->channels >= FLAT * LANES && g->y.out * (outer - inner) >= FLAT_PIXELS;
}

#endif
