/* The largest value of each window of an NHWC image and where it stands: MediaPipe's MaxPoolingWithArgmax2D. */
#ifndef NNF_TFL_POOL_H
#define NNF_TFL_POOL_H

#include <stddef.h>

#include "pooling/pooling.h"

#define NNF_PLACE_OFFSET 0.1f /* what places are moved by, so that they survive being cut off to integers */

/* Row `row` of the outputs, all its columns and channels.
 *   x  image [h][w][channels]    y, places  [ow][channels]
 * y: the first value of the window above -FLT_MAX that no later one exceeds, else -FLT_MAX; places: its number in the
 * plane, row * w + column, as a float, plus the offset; else that of number 0. Positions outside of the image do not
 * count, nor do NaNs. Any alignment; nothing overlaps. */
typedef void (*nnf_max_pool_places_f32_nhwc_fn)(const nnf_pool *g, size_t row, const float *x, float *y, float *places);

#endif
