/* Convolution to few output channels. A tile of conv2d.h would leave most of its lanes idle; here the lanes are
 * neighbouring inputs of a tap, and what they summed up is added at the end of a pixel. */
#ifndef NNF_CONV2D_NARROW_H
#define NNF_CONV2D_NARROW_H

#include <stddef.h>
#include <stdint.h>

#include "conv2d/conv2d.h"

/* Most rows of a tile, for all kernels; so many addresses of each tap. */
enum { NNF_CONV2D_NARROW_ROWS = 32 };

/* conv2d_narrow_f32_nhwc: tiles of conv2d.h of any number of columns, whose w is `columns` biases and then the weights
 * [columns][taps * depth]; ldc >= columns; nothing is fetched. The products of a pixel are added in one order, whatever
 * the number of rows. */

/* One tile of 8-bit codes, weights without zero point:
 * c[i][j] = flip ^ clamp(MBQM(bias[j] + sum over taps t and k < depth of (from ^ a[t * NNF_CONV2D_NARROW_ROWS + i][k]) *
 * weight[t][k][j], multiplier[j], exponent[j]) + zero_point, lo, hi). Reads exactly rows x taps x depth codes. */
typedef struct nnf_conv2d_narrow_q8_tile {
    size_t rows, columns; /* 1..NNF_CONV2D_NARROW_ROWS, >= 1 */
    size_t taps, depth;   /* >= 1, >= k of the kernel */
    const uint8_t *const *a;
    uint8_t from;      /* 0x80 where the codes are signed */
    const int32_t *w;  /* packed for the kernel, any alignment that fits int32 */
    uint8_t *c;
    size_t ldc;
    int32_t zero_point, lo, hi; /* of the output, 0..255 */
    uint8_t flip;               /* 0x80 where the output is signed */
} nnf_conv2d_narrow_q8_tile;

typedef void (*nnf_conv2d_narrow_qu8_qs8c_nhwc_fn)(const nnf_conv2d_narrow_q8_tile *tile);

/* Blocks of k weights for a tap of `depth` >= k. The last one is that of the last k codes: the weights of those that the
 * block before it has are zeros in it. */
static inline size_t nnf_conv2d_narrow_blocks(size_t depth, size_t k)
{
    return (depth + k - 1) / k;
}

/* The header of packed weights is that of a panel `columns` wide, without the 64 bytes that follow its arrays; after it
 * come the weights int8 [columns][taps][blocks][k]. */
static inline const int8_t *nnf_conv2d_narrow_weights(const int32_t *w, size_t columns)
{
    return (const int8_t *)(w + NNF_CONV2D_Q8_ARRAYS * columns);
}

/* Bytes of the packed weights. */
size_t nnf_pack_conv2d_narrow_q8_size(size_t columns, size_t taps, size_t depth, size_t k);

/* Packs weights [columns][taps * depth]; the scheme's weight_zero_point must be 0. */
void nnf_pack_conv2d_narrow_q8(size_t columns, size_t taps, size_t depth, size_t k, const uint8_t *weights,
                               const nnf_conv2d_q8_scheme *scheme, unsigned char *packed);

/* Whether packed weights that come from elsewhere have no shift that kernels cannot do. */
int nnf_fits_conv2d_narrow_q8(size_t columns, const unsigned char *packed);

#endif
