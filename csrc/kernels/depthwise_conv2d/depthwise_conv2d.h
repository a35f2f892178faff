/* Depthwise convolution of NHWC images: output channel o reads input channel o / multiplier (ops_a.md B, code 4). */
#ifndef NNF_DEPTHWISE_CONV2D_H
#define NNF_DEPTHWISE_CONV2D_H

#include <stddef.h>
#include <stdint.h>

#include "nnf/window.h"

#define NNF_DEPTHWISE_BLOCK 16 /* output channels of one packed float block */

/* Geometry of one image. channels counts the output's; the input has channels / multiplier. */
typedef struct nnf_depthwise {
    nnf_axis y, x;
    size_t channels, multiplier;
} nnf_depthwise;

/* Output rows first..last-1 and channels begin..end-1 (begin a multiple of the block; end too, or all channels).
 *   x  image [h][w][channels / multiplier]        packed  by nnf_pack_depthwise_conv2d_f32
 *   y  first output row [ow][channels]; rows follow each other
 * y = clamp(bias + sum of the taps inside the image, lo, hi); a NaN stays a NaN. Any alignment; reads only elements of
 * the image and the pack, writes only the outputs named. x and y do not overlap. */
typedef void (*nnf_depthwise_conv2d_f32_nhwc_fn)(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                 size_t end, const float *x, const float *packed, float *y, float lo,
                                                 float hi);

/* Floats that the pack needs: for each block of channels [1 + taps][block], the bias first, zeros behind the last. */
size_t nnf_pack_depthwise_conv2d_f32_size(size_t channels, size_t taps);

/* filter [taps][channels], bias [channels]. */
void nnf_pack_depthwise_conv2d_f32(size_t channels, size_t taps, const float *filter, const float *bias,
                                   float *packed);

#endif
