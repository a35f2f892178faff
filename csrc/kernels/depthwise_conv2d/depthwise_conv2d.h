/* Depthwise convolution of NHWC images: output channel o reads input channel o / multiplier [NN 14.4]. */
#ifndef NNF_DEPTHWISE_CONV2D_H
#define NNF_DEPTHWISE_CONV2D_H

#include <stddef.h>
#include <stdint.h>

#include "nnf/window.h"

#define NNF_DEPTHWISE_BLOCK 16  /* output channels of one packed float block, and of sums of int16 codes */
#define NNF_DEPTHWISE_WORDS 511 /* products of an int16 and an int8 number whose sum has 32 bits */

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

/* The same, with outputs rounded to bfloat16 (nnf/bf16.h) for the products of conv2d_bf16.h: y [ow][pixel], pixel >=
 * channels. What lies behind the channels of a pixel becomes zero with the last of them. */
typedef void (*nnf_depthwise_conv2d_f32_bf16_nhwc_fn)(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                      size_t end, const float *x, const float *packed, uint16_t *y,
                                                      size_t pixel, float lo, float hi);

/* Floats that the pack needs: for each block of channels [1 + taps][block], the bias first, zeros behind the last. */
size_t nnf_pack_depthwise_conv2d_f32_size(size_t channels, size_t taps);

/* filter [taps][channels], bias [channels]. */
void nnf_pack_depthwise_conv2d_f32(size_t channels, size_t taps, const float *filter, const float *bias,
                                   float *packed);

/* Sums of products of int16 codes and int8 weights, without a bias: as above, of windows of at most NNF_DEPTHWISE_WORDS
 * taps and with multiplier 1.
 *   x  image [h][w][channels]    weights [taps][channels]    y  first output row [ow][channels] */
typedef void (*nnf_depthwise_conv2d_qs16_s32_nhwc_fn)(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                      size_t end, const int16_t *x, const int32_t *weights,
                                                      int32_t *y);

/* One tap of an 8-bit window: where it lies from the window's first tap. */
typedef struct nnf_depthwise_tap {
    int32_t down, across; /* rows and columns of the image */
    ptrdiff_t offset;     /* the same in bytes */
} nnf_depthwise_tap;

/* An 8-bit depthwise convolution. Codes count from the lowest one: for signed types every code, and so every zero
 * point and limit here, is the stored one plus 128 [NN 13.11]. The caller sets the first group of fields. */
typedef struct nnf_depthwise_q8 {
    nnf_depthwise g;
    size_t n, k;     /* of the kernel's row: lanes of a block, taps of a group; k = 4 for u8 x s8 products, else s16 */
    int32_t in_zero, out_zero, lo, hi;

    size_t groups;   /* groups of k taps; missing ones have zero weights */
    size_t outputs;  /* neighbouring outputs that share the taps of a group: 2 for short rows of taps at stride 1 */
    size_t parts;    /* weights are sums of so many s8 values */
    int small;       /* the rows of the pack are those of small sums */
    int upright;     /* groups go down the columns of the window, one column after the other */
    const nnf_depthwise_tap *taps; /* [groups * k] */
    const int32_t *blocks;         /* per block [NNF_DEPTHWISE_ROWS + groups * parts * outputs][n] */
} nnf_depthwise_q8;

/* Rows of a packed block before its weights. Lane 16 q + 4 i + j of a row of n is channel (16 q + 4 v + j) mod width of
 * the block for vector v = i of 4 vectors: the order in which bytes unpack within 128-bit lanes.
 * FOLDED is the bias less in_zero times the sum of weights.
 *
 * Small sums: every |sum| < 2^30 and every channel shifts right, by 1 to 20. As floor(floor(a) / b) = floor(a / b), both
 * roundings, the output's zero point and the final shift are one 64-bit sum: with s = sum + 2^31 (FOLDED has it), unsigned,
 *   code = (s * 2 m + round + (sum >= 0) * 2^32) >> (32 + right)
 *   round = 2^31 + (2^(right - 1) - 1 - m + out_zero * 2^right) * 2^32
 * DOUBLE holds 2 m, DOUBLE_ODD the same one lane down, ROUND and ROUND_ODD the 64-bit terms of even and odd lanes. */
enum {
    NNF_DEPTHWISE_FOLDED, NNF_DEPTHWISE_RIGHT,
    NNF_DEPTHWISE_MULTIPLIER, NNF_DEPTHWISE_LEFT,
    NNF_DEPTHWISE_DOUBLE = 2, NNF_DEPTHWISE_DOUBLE_ODD, NNF_DEPTHWISE_ROUND, NNF_DEPTHWISE_ROUND_ODD,
    NNF_DEPTHWISE_ROWS
};

/* Channels of the block that starts at a channel: n, or at the end the least of n, 32, 16 and, for blocks of 32 and more,
 * 8 that holds the rest. A block of fewer than n channels repeats them, for n / width pixels at once. */
static inline size_t nnf_depthwise_width(const nnf_depthwise_q8 *p, size_t channel)
{
    const size_t rest = p->g.channels - channel;
    return p->n >= 32 && rest <= 8 ? 8 : p->n >= 32 && rest <= 16 ? 16 : p->n >= 64 && rest <= 32 ? 32 : p->n;
}

/* Channels of an image whose rows kernels of 64 lanes take as vectors. */
enum { NNF_DEPTHWISE_DENSE = 8 };

/* Output rows first..last-1 and channels begin..end-1 (begin a multiple of n; end too, or all channels).
 *   x  image [h][w][channels / multiplier]   y  first output row [ow][channels]
 * y = clamp(MBQM(bias + sum (x - in_zero) * w) + out_zero, lo, hi), sums modulo 2^32; positions outside the image count
 * as in_zero. multiplier > 1 only by the scalar kernels. Any alignment; reads only the image, writes only the outputs
 * named. x and y do not overlap. */
typedef void (*nnf_depthwise_conv2d_q8_nhwc_fn)(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                size_t end, const uint8_t *x, uint8_t *y);

/* The pack in two parts: a table of taps, which follows from the geometry, and blocks, which hold the weights. What the
 * values of the weights decide is `parts` and `small`; the order of calls is judge, plan, pack, place. */

/* Sets parts and small. filter [taps][channels], less the zero point; bias and exponent [channels]. */
void nnf_judge_depthwise_conv2d_q8(nnf_depthwise_q8 *p, const int16_t *filter, const int32_t *bias,
                                   const int32_t *exponent);

/* Sets groups and outputs; returns the bytes of the blocks, *table is those of the table. */
size_t nnf_plan_depthwise_conv2d_q8(nnf_depthwise_q8 *p, size_t *table);

/* Fills the blocks (aligned to 64 bytes); multiplier [channels]. */
void nnf_pack_depthwise_conv2d_q8(const nnf_depthwise_q8 *p, const int16_t *filter, const int32_t *bias,
                                  const int32_t *multiplier, const int32_t *exponent, int32_t *blocks);

/* Whether blocks that come from elsewhere have no shift that kernels cannot do; whatever else they hold is a number. */
int nnf_fits_depthwise_conv2d_q8(const nnf_depthwise_q8 *p, const int32_t *blocks);

/* Fills the table (aligned to 64 bytes) and points p at both. */
void nnf_place_depthwise_conv2d_q8(nnf_depthwise_q8 *p, nnf_depthwise_tap *table, const int32_t *blocks);

#endif
