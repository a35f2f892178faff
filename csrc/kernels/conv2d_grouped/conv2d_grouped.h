/* Grouped convolution of few channels in each group. A tile of conv2d.h has the channels of one group in its lanes, and
 * most lanes idle; here the lanes are output channels of several groups, and each takes the inputs of its own. */
#ifndef NNF_CONV2D_GROUPED_H
#define NNF_CONV2D_GROUPED_H

#include <stddef.h>
#include <stdint.h>

#include "conv2d/conv2d.h"

/* Most rows of a tile, for all kernels; so many addresses of each tap. */
enum { NNF_CONV2D_GROUPED_ROWS = 24 };

/* `depth` input and `units` output channels of each group. */
typedef struct nnf_conv2d_groups {
    size_t groups, depth, units;
} nnf_conv2d_groups;

/* One tile of 8-bit codes, weights without zero point: with j of group g
 * c[i][j] = flip ^ clamp(MBQM(bias[j] + sum over taps t and k < depth of
 * (from ^ a[t * NNF_CONV2D_GROUPED_ROWS + i][g * depth + k]) * weight[j][t][k], multiplier[j], exponent[j]) + zero_point,
 * lo, hi). Reads exactly groups x depth codes of each address. */
typedef struct nnf_conv2d_grouped_q8_tile {
    size_t rows, taps; /* 1..NNF_CONV2D_GROUPED_ROWS, >= 1 */
    nnf_conv2d_groups in;
    const uint8_t *const *a;
    uint8_t from;     /* 0x80 where the codes are signed */
    const int32_t *w; /* packed for the kernel, 64-byte aligned */
    uint8_t *c;
    size_t ldc;
    int32_t zero_point, lo, hi; /* of the output, 0..255 */
    uint8_t flip;               /* 0x80 where the output is signed */
} nnf_conv2d_grouped_q8_tile;

typedef void (*nnf_conv2d_grouped_qu8_qs8c_nhwc_fn)(const nnf_conv2d_grouped_q8_tile *tile);

/* Of vectors of n output channels: the first input of those from unit `first` on, and how many inputs they reach over. */
static inline size_t nnf_conv2d_grouped_base(const nnf_conv2d_groups *in, size_t first)
{
    return first / in->units * in->depth;
}

static inline size_t nnf_conv2d_grouped_span(const nnf_conv2d_groups *in, size_t first, size_t n)
{
    const size_t all = in->groups * in->units, last = first + n < all ? first + n - 1 : all - 1;
    return (last / in->units + 1) * in->depth - nnf_conv2d_grouped_base(in, first);
}

/* Whether a kernel of n lanes that takes k codes for each at once can spread the inputs of all its vectors: the depth is
 * whole ks, and no span is above n k. Of 8 lanes and 2 codes a span must be 4, 8 or 16, which one load reads. */
int nnf_conv2d_grouped_fits(const nnf_conv2d_groups *in, size_t n, size_t k);

/* A block of packed weights for n output channels: a header as that of a panel n wide without the 64 bytes behind its
 * arrays, then for each step of k inputs int32 [n], which k of the span a lane takes, then the weights [taps][steps][n][k],
 * int8 for k = 4 and int16 for k = 2. */
static inline size_t nnf_conv2d_grouped_block(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k)
{
    const size_t steps = in->depth / k;
    return 4 * n * (NNF_CONV2D_Q8_ARRAYS + steps + taps * steps);
}

/* Bytes of all blocks. */
size_t nnf_pack_conv2d_grouped_q8_size(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k);

/* Packs weights [groups * units][taps * depth]; the scheme's weight_zero_point must be 0. */
void nnf_pack_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k, const uint8_t *weights,
                                const nnf_conv2d_q8_scheme *scheme, unsigned char *packed);

/* Whether packed weights that come from elsewhere have no shift and no place that kernels cannot do. */
int nnf_fits_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k,
                               const unsigned char *packed);

#endif
