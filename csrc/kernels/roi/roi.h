/* One bin of ROI_ALIGN in an NHWC image: a weighted sum of pixels [NN 15.81].
 *
 * The pixels are those of `rows` x `columns` (>= 1 each), pixel (r, c) at x + row[r] + column[c], in elements; weight
 * [r][c] is w[r * columns + c]. n >= 1 channels, any alignment; reads only these pixels, writes n elements of y. */
#ifndef NNF_ROI_H
#define NNF_ROI_H

#include <stddef.h>
#include <stdint.h>

typedef struct nnf_roi {
    size_t rows, columns;
    const size_t *row, *column;
} nnf_roi;

/* The scalar row sums in double. The fast ones sum each row of pixels first, so that errors stay small in large bins. */
typedef void (*nnf_roi_align_f32_nhwc_fn)(const nnf_roi *g, const float *w, size_t n, const float *x, float *y);

/* 8-bit: y = clamp(mbqm(sum of w (x - zero_x)) + zero_y, lo, hi); the sum wraps as int32 does. multiplier >= 0 and
 * -31 <= exponent <= 1. qs8 rows read and write signed codes. */
typedef struct nnf_roi_q8 {
    int32_t zero_x, multiplier, exponent, zero_y, lo, hi;
} nnf_roi_q8;

typedef void (*nnf_roi_align_q8_nhwc_fn)(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                         const nnf_roi_q8 *q);

#endif
