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

/* What kernels that take k codes at once read, from codes x: y[i] = flip ^ x[i], as bytes for k = 4 and as words for
 * k = 2. Reads n codes and writes as many. */
typedef void (*nnf_conv2d_grouped_inputs_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t flip, void *y);

/* Bytes of one of them. */
static inline size_t nnf_conv2d_grouped_item(size_t k) { return 4 / k; }

/* One tile of 8-bit codes, weights without zero point: with j of group g
 * c[i][j] = flip ^ clamp(MBQM(bias[j] + sum over taps t and k < depth of
 * a[t * NNF_CONV2D_GROUPED_ROWS + i][g * depth + k] * weight[j][t][k], multiplier[j], exponent[j]) + zero_point, lo, hi).
 * Reads exactly groups x depth inputs of addresses, of rows that are not there too. */
typedef struct nnf_conv2d_grouped_q8_tile {
    size_t rows, taps; /* 1..NNF_CONV2D_GROUPED_ROWS, >= 1 */
    nnf_conv2d_groups in;
    const void *const *a;
    const int32_t *w; /* packed for the kernel, 64-byte aligned */
    uint8_t *c;
    size_t ldc;
    int32_t zero_point, lo, hi; /* of the output, 0..255 */
    uint8_t flip;               /* 0x80 where the output is signed */
} nnf_conv2d_grouped_q8_tile;

typedef void (*nnf_conv2d_grouped_qu8_qs8c_nhwc_fn)(const nnf_conv2d_grouped_q8_tile *tile);

/* Packed weights are panels of a kernel's n output channels, each with the header of conv2d.h. Groups of more than n / 4
 * have panels of their own, n or n / 2 wide, whose lanes all take the same inputs; else panels of n / 2 go on from group
 * to group. */
static inline int nnf_conv2d_grouped_apart(const nnf_conv2d_groups *in, size_t n) { return 4 * in->units > n; }

/* Of the panel whose first output channel is `first`: how wide it is, and how many channels it has. */
static inline size_t nnf_conv2d_grouped_width(const nnf_conv2d_groups *in, size_t first, size_t n)
{
    return nnf_conv2d_grouped_apart(in, n) ? nnf_conv2d_width(in->units - first % in->units, n) : n / 2;
}

static inline size_t nnf_conv2d_grouped_columns(const nnf_conv2d_groups *in, size_t first, size_t n)
{
    const size_t width = nnf_conv2d_grouped_width(in, first, n);
    const size_t left = nnf_conv2d_grouped_apart(in, n) ? in->units - first % in->units : in->groups * in->units - first;
    return left < width ? left : width;
}

/* Its first input, and how many inputs its groups have. */
static inline size_t nnf_conv2d_grouped_base(const nnf_conv2d_groups *in, size_t first)
{
    return first / in->units * in->depth;
}

static inline size_t nnf_conv2d_grouped_span(const nnf_conv2d_groups *in, size_t first, size_t n)
{
    const size_t last = first + nnf_conv2d_grouped_columns(in, first, n) - 1;
    return (last / in->units + 1) * in->depth - nnf_conv2d_grouped_base(in, first);
}

/* Whether a kernel that takes k codes at once can do them: the depth is whole ks, of 2 codes and vectors of 8 lanes whole
 * fours, and no panel that goes on from group to group has a span above n k / 2. */
int nnf_conv2d_grouped_fits(const nnf_conv2d_groups *in, size_t n, size_t k);

/* int32 of a panel: the header; if panels go on from group to group, for each step of k inputs int32 [width], which k of
 * the span a lane takes; then the weights [taps][steps][width][k], int8 for k = 4 and int16 for k = 2. */
static inline size_t nnf_conv2d_grouped_places(const nnf_conv2d_groups *in, size_t n, size_t k)
{
    return nnf_conv2d_grouped_apart(in, n) ? 0 : in->depth / k * (n / 2);
}

static inline size_t nnf_conv2d_grouped_header(size_t width) { return NNF_CONV2D_Q8_ARRAYS * width + 16; }

static inline size_t nnf_conv2d_grouped_panel(const nnf_conv2d_groups *in, size_t taps, size_t width, size_t n, size_t k)
{
    return nnf_conv2d_grouped_header(width) + nnf_conv2d_grouped_places(in, n, k) + taps * (in->depth / k) * width;
}

/* Bytes of all panels. */
size_t nnf_pack_conv2d_grouped_q8_size(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k);

/* Packs weights [groups * units][taps * depth]; the scheme's weight_zero_point must be 0. */
void nnf_pack_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k, const uint8_t *weights,
                                const nnf_conv2d_q8_scheme *scheme, unsigned char *packed);

/* Whether packed weights that come from elsewhere have no shift and no place that kernels cannot do. */
int nnf_fits_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k,
                               const unsigned char *packed);

#endif
