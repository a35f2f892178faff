/* Bilinear interpolation [NN 14.23]: one row of `width` output pixels of `channels` values.
 *   top, bottom   the input rows above and below, of pixels of `channels` values
 *   left, right   input column on either side of each output column
 *   across        weight of the right column at each output column
 *   down          weight of the bottom row
 * Every row forms its float32 sums in the order of the standard's reference, product by product, so that all agree to
 * the last bit. Codes are cut after adding 0.5; of negative sums after subtracting it if is_away. Any alignment; y overlaps nothing. */
#ifndef NNF_RESIZE_H
#define NNF_RESIZE_H

#include <stddef.h>
#include <stdint.h>

typedef struct nnf_resize {
    size_t width, channels;
    const uint32_t *left, *right;
    const float *across;
    int is_away;
} nnf_resize;

typedef void (*nnf_resize_bilinear_f32_nhwc_fn)(const nnf_resize *p, const float *top, const float *bottom, float down,
                                                float *y);
/* qs8 rows read and write signed codes. */
typedef void (*nnf_resize_bilinear_q8_nhwc_fn)(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                               float down, uint8_t *y);

#endif
