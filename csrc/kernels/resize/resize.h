/* Bilinear interpolation [NN 14.23]: one row of `width` output pixels of `channels` values.
 *   top, bottom   the input rows above and below, of `columns` pixels of `channels` values
 *   left, right   input column on either side of each output column
 *   across        weight of the right column at each output column
 *   down          weight of the bottom row
 *   work          NULL, or 2 (columns channels + NNF_RESIZE_SPARE) numbers of 32 bits that the kernel may write; of
 *                 float32 there where nnf_resize_find_near found something, else not used
 * Every row forms its float32 sums in the order of the standard's reference, product by product, so that all agree to
 * the last bit; any order does if is_exact. Codes are cut after adding 0.5. If is_fixed, as LiteRT has it for int8,
 * weights are whole parts of NNF_RESIZE_ONE, outside of 0 to 1 only between a pixel and itself, and exact sums are
 * rounded to the nearest code, halves away from zero. Any alignment; y overlaps nothing. */
#ifndef NNF_RESIZE_H
#define NNF_RESIZE_H

#include <stddef.h>
#include <stdint.h>

enum {
    NNF_RESIZE_BITS = 10,
    NNF_RESIZE_ONE = 1 << NNF_RESIZE_BITS,
    NNF_RESIZE_SPARE = 32,       /* numbers behind a row of work, which are read but do not count */
    NNF_RESIZE_LONGEST = 1 << 15 /* numbers of a row of work: two lie in an L2 cache */
};

typedef struct nnf_resize {
    size_t width, channels, columns;
    const uint32_t *left, *right;
    const float *across;
    int is_fixed; /* qs8 only */
    int is_exact; /* float32 holds every product and sum of codes with these weights, whatever their order */
    /* float32 only, NULL or of nnf_resize_find_near (resize_near.h): where the neighbours of each vector of output
     * values begin in an input row, and of each value how far behind that its own are, and the weight of the right. */
    const uint32_t *near_first, *near_left, *near_right;
    const float *near_across;
} nnf_resize;

/* Numbers of work, in which input rows are weighted once for all output columns; 0 where that takes longer. */
static inline size_t nnf_resize_work(const nnf_resize *p)
{
    const size_t row = p->columns * p->channels, vectors = p->width * ((p->channels + 7) / 8);
    return row <= 8 * vectors && row <= NNF_RESIZE_LONGEST ? 2 * (row + NNF_RESIZE_SPARE) : 0;
}

typedef void (*nnf_resize_bilinear_f32_nhwc_fn)(const nnf_resize *p, const float *top, const float *bottom, float down,
                                                void *work, float *y);
/* qs8 rows read and write signed codes. */
typedef void (*nnf_resize_bilinear_q8_nhwc_fn)(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                               float down, void *work, uint8_t *y);

#endif
