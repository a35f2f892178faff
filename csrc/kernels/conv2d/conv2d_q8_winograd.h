/* 3x3 convolution of 8-bit codes with stride 1 by Winograd's F(2x2, 3x3) and F(4x4, 3x3), exact in integers: a patch of
 * 4x4 inputs becomes 2x2 outputs with 16 products per pair of channels instead of 36, one of 6x6 inputs becomes 4x4
 * outputs with 36 instead of 144.
 *
 *   v = B^T d B    m[k] = sum over input channels of v[k] * u[k]    (scale of G)^2 y = A^T m A    with u = G g G^T
 *
 * F(2x2, 3x3), G scaled by 2, so that all of it is whole:
 *   B^T rows: d0 - d2;  d1 + d2;  d2 - d1;  d1 - d3        G rows: 2 g0;  g0 + g1 + g2;  g0 - g1 + g2;  2 g2
 *   A^T rows: m0 + m1 + m2;  m1 - m2 - m3
 * Of codes |d| <= 255, and of weights less their zero point |g| <= 255, |v| <= 1,020 and |u| <= 2,295 fit 16 bits. Sums
 * may wrap on the way: 4 y is right if it fits 32 bits, which up to NNF_WINOGRAD_Q8_CHANNELS it does whatever the codes
 * and weights are.
 *
 * F(4x4, 3x3), G and A scaled by 24 together:
 *   B^T rows: 4 d0 - 5 d2 + d4;                            G rows: 3 g0;
 *             4 d1 + 4 d2 - d3 - d4;                               g0 + g1 + g2;
 *             -4 d1 + 4 d2 + d3 - d4;                              g0 - g1 + g2;
 *             -2 d1 - d2 + 2 d3 + d4;                              g0 + 2 g1 + 4 g2;
 *             2 d1 - d2 - 2 d3 + d4;                               g0 - 2 g1 + 4 g2;
 *             4 d1 - 5 d3 + d5                                     3 g2
 *   A^T rows: 2 m0 + 4 (m1 + m2) + m3 + m4;  4 (m1 - m2) + 2 (m3 - m4);
 *             4 (m1 + m2) + 4 (m3 + m4);     4 (m1 - m2) + 8 (m3 - m4) + 8 m5
 * |v| <= 17,340 and |u| <= 12,495. 576 y may wrap as well: multiplied by the inverse of 9 modulo 2^32 it is 64 y, which is
 * right if it fits 32 bits. It does where a unit's weights, without signs, add up to less than nnf_winograd_q8_most. */
#ifndef NNF_CONV2D_Q8_WINOGRAD_H
#define NNF_CONV2D_Q8_WINOGRAD_H

#include "conv2d.h"

enum {
    NNF_WINOGRAD_Q8_SMALL = 2, NNF_WINOGRAD_Q8_LARGE = 4, /* outputs of a patch, on a side: `out` below */
    NNF_WINOGRAD_Q8_CHANNELS = 917 /* of small patches: 4 * 9 * 255 * 255 * channels < 2^31 */
};

/* Inputs of a patch on a side. */
static inline size_t nnf_winograd_q8_in(size_t out)
{
    return out + 2;
}

/* Products of a patch for each pair of channels. */
static inline size_t nnf_winograd_q8_products(size_t out)
{
    return nnf_winograd_q8_in(out) * nnf_winograd_q8_in(out);
}

/* What the weights of a unit for large patches, without signs, add up to at most: |64 y| < 2^31. */
static inline int64_t nnf_winograd_q8_most(int is_signed)
{
    return ((INT64_C(1) << 25) - 1) / (is_signed ? 128 : 255);
}

/* Elements of the transformed inputs of a patch, [channels] and some behind them that count for nothing. */
static inline size_t nnf_winograd_q8_pitch(size_t channels)
{
    return (channels + 15) / 16 * 16;
}

/* Patches side by side, the first of d[i][j] = x[i * row + j * channels + c], each of the others `out` columns further.
 * v[k * stride + patch * pitch + c] for all products k, column by column; d is `pad` but where top <= i < bottom and, counted from the first
 * patch, left <= j < right. Codes are int8 or uint8. Reads exactly those inputs, writes whole pitches. */
typedef struct nnf_winograd_q8_run {
    size_t patches, channels, row, stride;
    size_t top, bottom, left, right; /* within 0..in and 0..out * patches + 2 */
    int is_signed;
    int16_t pad;
} nnf_winograd_q8_run;

/* conv2d_winograd_input_qu8_s16_nhwc for small patches, conv2d_winograd4_input_qu8_s16_nhwc for large ones. */
typedef void (*nnf_conv2d_winograd_input_qu8_s16_nhwc_fn)(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v);

/* Where the outputs of a patch go: elements before the first one, and how many there are, each 1..out. */
typedef struct nnf_winograd_q8_place {
    size_t at;
    int32_t height, width;
} nnf_winograd_q8_place;

/* Outputs of patches in the columns of one panel, as nnf_conv2d_q8_tile makes codes of sums. A panel has the form of
 * conv2d.h for a depth of nnf_winograd_q8_depth, its weights 16 bits: [products][2 * groups][width][2], column by
 * column, and of each pair of channels the two side by side. */
typedef struct nnf_winograd_q8_tile {
    size_t patches, columns; /* 1..m, 1..n of the kernel */
    size_t groups;           /* of 4 channels */
    size_t pitch, stride;    /* elements of v from one patch to the next, and from one matrix to the next */
    const int16_t *v;
    const int32_t *w; /* panel, 64-byte aligned */
    const nnf_winograd_q8_place *places;
    uint8_t *c;
    size_t row, pixel; /* elements between output rows and pixels */
    int32_t zero_point, lo, hi; /* of the output, 0..255 */
    uint8_t flip;               /* 0x80 when the output is signed */
} nnf_winograd_q8_tile;

/* conv2d_winograd_s16_qu8_tile of small patches, conv2d_winograd4_s16_qu8_tile of large ones. */
typedef void (*nnf_conv2d_winograd_s16_qu8_tile_fn)(const nnf_winograd_q8_tile *tile);

static inline size_t nnf_winograd_q8_groups(size_t channels)
{
    return (channels + NNF_CONV2D_Q8_GROUP - 1) / NNF_CONV2D_Q8_GROUP;
}

static inline size_t nnf_winograd_q8_depth(size_t out, size_t channels)
{
    return 2 * nnf_winograd_q8_products(out) * NNF_CONV2D_Q8_GROUP * nnf_winograd_q8_groups(channels);
}

/* Packs a filter [units][3][3][channels] for patches of `out` and kernels of n columns: nnf_pack_conv2d_q8_size bytes for
 * the depth above. The scheme's input zero point is that of the codes as they are. */
void nnf_pack_conv2d_winograd_q8(size_t out, size_t units, size_t channels, size_t n, const uint8_t *filter,
                                 const nnf_conv2d_q8_scheme *scheme, unsigned char *packed);

#endif
