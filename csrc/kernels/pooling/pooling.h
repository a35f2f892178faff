/* Average, root of the mean square and maximum over the window of each output of an NHWC image [NN 14.1]. */
#ifndef NNF_POOLING_H
#define NNF_POOLING_H

#include <stddef.h>
#include <stdint.h>

#include "nnf/window.h"

#define NNF_POOL_BLOCK 64          /* channels of a block; threads split at its multiples */
#define NNF_POOL_WINDOW_MAX 32768  /* positions of an integer average's window: of 8 bits, its division runs in float32,
                                      exact so far; of 16 bits, its sums have 32 */

/* Geometry of one image; dilations are 1 and every window has a position inside the image. */
typedef struct nnf_pool {
    nnf_axis y, x;
    size_t channels;
} nnf_pool;

/* Output rows first..last-1 and channels begin..end-1 (begin a multiple of the block; end too, or all channels).
 *   x  image [h][w][channels]    y  first output row [ow][channels]; rows follow each other
 * Positions outside the image do not count. Any alignment; reads only the image, writes only the outputs named. x and y
 * do not overlap.
 * float32: average = sum of the sums of the window's rows, or of its columns, / positions; l2 sums squares in double,
 * which hold them; a NaN in the window gives a NaN, which no clamp hides. */
typedef void (*nnf_pool_f32_fn)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
                                float *y, float lo, float hi);
/* Integers: lo and hi are stored codes. average of n codes: (sum + n/2) / n; of negative sums (sum - n/2) / n, truncated. */
typedef void (*nnf_pool_q8_fn)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                               const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi);
typedef void (*nnf_pool_q16_fn)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                const int16_t *x, int16_t *y, int32_t lo, int32_t hi);

/* The part of one output's window that lies inside the image, along an axis: position of the first one; how many. */
typedef struct nnf_pool_span {
    size_t start, count;
} nnf_pool_span;

static inline nnf_pool_span nnf_pool_along(const nnf_axis *a, size_t output)
{
    const size_t from = output * a->stride, start = from > a->head ? from - a->head : 0;
    const size_t stop = from + a->taps < a->head + a->size ? from + a->taps - a->head : a->size;
    return (nnf_pool_span){start, stop - start};
}

/* Along both: first element, counted in the image; positions. */
typedef struct nnf_pool_window {
    size_t start, rows, columns;
} nnf_pool_window;

static inline nnf_pool_window nnf_pool_at(const nnf_pool *g, nnf_pool_span rows, size_t column)
{
    const nnf_pool_span columns = nnf_pool_along(&g->x, column);
    return (nnf_pool_window){(rows.start * g->x.size + columns.start) * g->channels, rows.count, columns.count};
}

#endif
