/* Convolution of 8-bit codes with stride 1 by Winograd's F(2x2, 3x3), F(3x3, 4x4) and F(4x4, 3x3), exact in integers:
 * a patch of inputs becomes `out` x `out` outputs of a filter of 3x3 or 4x4 taps with as many products per pair of
 * channels as it has inputs: 4x4 or 6x6.
 *
 *   v = B^T d B    u = G g G^T    m[k] = sum over input channels of v[k] * u[k]    (scale of G and A)^2 y = A^T m A
 *
 * F(2x2, 3x3), scaled by 2, so that all of G is whole:
 *   B^T rows: d0 - d2;  d1 + d2;  d2 - d1;  d1 - d3        G rows: 2 g0;  g0 + g1 + g2;  g0 - g1 + g2;  2 g2
 *   A^T rows: m0 + m1 + m2;  m1 - m2 - m3
 * Of codes |d| <= 255, and of weights less their zero point |g| <= 255, |v| <= 1,020 and |u| <= 2,295 fit 16 bits. Sums
 * may wrap on the way: 4 y is right if it fits 32 bits, which up to NNF_WINOGRAD_Q8_CHANNELS it does whatever the codes
 * and weights are.
 *
 * F(4x4, 3x3) and F(3x3, 4x4), scaled by 24, with g3 = 0 in the former:
 *   B^T rows: 4 d0 - 5 d2 + d4;                            G rows: 3 g0;
 *             4 d1 + 4 d2 - d3 - d4;                               g0 + g1 + g2 + g3;
 *             -4 d1 + 4 d2 + d3 - d4;                              g0 - g1 + g2 - g3;
 *             -2 d1 - d2 + 2 d3 + d4;                              g0 + 2 g1 + 4 g2 + 8 g3;
 *             2 d1 - d2 - 2 d3 + d4;                               g0 - 2 g1 + 4 g2 - 8 g3;
 *             4 d1 - 5 d3 + d5                                     three times the last g
 *   A^T rows, of which F(3x3, 4x4) has the first three, with the 8 m5 in the last one:
 *             2 m0 + 4 (m1 + m2) + m3 + m4;  4 (m1 - m2) + 2 (m3 - m4);
 *             4 (m1 + m2) + 4 (m3 + m4);     4 (m1 - m2) + 8 (m3 - m4) + 8 m5
 * |v| <= 17,340 and |u| <= 49 |g| or 225 |g|, which fits 16 bits up to nnf_winograd_q8_far. 576 y may wrap as well:
 * multiplied by the inverse of 9 modulo 2^32 it is 64 y, which is right if it fits 32 bits. It does where a unit's
 * weights, without signs, add up to at most nnf_winograd_q8_most. */
#ifndef NNF_CONV2D_Q8_WINOGRAD_H
#define NNF_CONV2D_Q8_WINOGRAD_H

#include "conv2d.h"

/* Outputs of a patch on a side: `out` below. */
enum { NNF_WINOGRAD_Q8_2 = 2, NNF_WINOGRAD_Q8_3 = 3, NNF_WINOGRAD_Q8_4 = 4 };

enum {
    NNF_WINOGRAD_Q8_OUT = 4, NNF_WINOGRAD_Q8_IN = 6, NNF_WINOGRAD_Q8_TAPS = 4, /* at most */
    NNF_WINOGRAD_Q8_CHANNELS = 917 /* of patches of 2: 4 * 9 * 255 * 255 * channels < 2^31 */
};

/* Taps of the filter on a side. */
static inline size_t nnf_winograd_q8_taps(size_t out)
{
    return out == NNF_WINOGRAD_Q8_3 ? 4 : 3;
}

/* Inputs of a patch on a side. */
static inline size_t nnf_winograd_q8_in(size_t out)
{
    return out + nnf_winograd_q8_taps(out) - 1;
}

/* Products of a patch for each pair of channels. */
static inline size_t nnf_winograd_q8_products(size_t out)
{
    return nnf_winograd_q8_in(out) * nnf_winograd_q8_in(out);
}

/* What the weights of a unit, without signs, add up to at most for patches of 3 and 4: |64 y| < 2^31. */
static inline int64_t nnf_winograd_q8_most(int is_signed)
{
    return ((INT64_C(1) << 25) - 1) / (is_signed ? 128 : 255);
}

/* The largest weight, likewise, whose u fits 16 bits. */
static inline int32_t nnf_winograd_q8_far(size_t out)
{
    return out == NNF_WINOGRAD_Q8_3 ? INT16_MAX / 225 : 255;
}

/* Elements of the transformed inputs of a patch, [channels] and some behind them that count for nothing. */
static inline size_t nnf_winograd_q8_pitch(size_t channels)
{
    return (channels + 15) / 16 * 16;
}

/* Patches side by side, the first of d[i][j] = x[i * row + j * channels + c], each of the others `out` columns further.
 * v[k * stride + patch * pitch + c] for all products k, column by column; d is `pad` but where
 * top <= i < bottom and, counted from the first patch, left <= j < right. Codes are int8 or uint8. Reads exactly those inputs, writes whole pitches. */
typedef struct nnf_winograd_q8_run {
    size_t patches, channels, row, stride;
    size_t top, bottom, left, right; /* within 0..in and 0..out * (patches - 1) + in */
    int is_signed;
    int16_t pad;
} nnf_winograd_q8_run;

/* conv2d_winograd2_input_qu8_s16_nhwc for patches of 2; of 3 and 4 likewise. */
typedef void (*nnf_conv2d_winograd_input_qu8_s16_nhwc_fn)(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v);

/* Where the outputs of a patch go: elements before the first one, and how many there are, each 1..out. */
typedef struct nnf_winograd_q8_place {
    size_t at;
    int32_t height, width;
} nnf_winograd_q8_place;

/* Outputs of patches in the columns of one panel, as nnf_conv2d_q8_tile makes codes of sums; or int32 sums with their
 * bias, in as many elements of four bytes. A panel has the form of conv2d.h for a depth of nnf_winograd_q8_depth, its
 * weights 16 bits: [products][2 * groups][width][2], column by column, and of each pair of channels the two side by
 * side. */
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
    int raw;                    /* c is int32 sums; the four numbers before count for nothing */
} nnf_winograd_q8_tile;

/* conv2d_winograd2_s16_qu8_tile of patches of 2; of 3 and 4 likewise. */
typedef void (*nnf_conv2d_winograd_s16_qu8_tile_fn)(const nnf_winograd_q8_tile *tile);

static inline size_t nnf_winograd_q8_groups(size_t channels)
{
    return (channels + NNF_CONV2D_Q8_GROUP - 1) / NNF_CONV2D_Q8_GROUP;
}

static inline size_t nnf_winograd_q8_depth(size_t out, size_t channels)
{
    return 2 * nnf_winograd_q8_products(out) * NNF_CONV2D_Q8_GROUP * nnf_winograd_q8_groups(channels);
}

/* Packs a filter [units][taps][taps][channels] for patches of `out` and kernels of n columns: nnf_pack_conv2d_q8_size
 * bytes for the depth above. The scheme's input zero point is that of the codes as they are. */
void nnf_pack_conv2d_winograd_q8(size_t out, size_t units, size_t channels, size_t n, const uint8_t *filter,
                                 const nnf_conv2d_q8_scheme *scheme, unsigned char *packed);

#endif
