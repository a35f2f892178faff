/* The products of conv2d.h in bfloat16, where the client asked for that: inputs and weights are rounded to bfloat16, to
 * nearest even, sums, biases and outputs are float32.
 *
 * A float32 number below 2^-126 becomes a zero of its sign, and a NaN stays one: so do the instructions. They also take
 * sums below 2^-126 for zeros, which the scalar twin does not. */
#ifndef NNF_CONV2D_BF16_H
#define NNF_CONV2D_BF16_H

#include <string.h>

#include "conv2d.h"

static inline uint16_t nnf_bf16_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t magnitude = bits & UINT32_C(0x7fffffff);
    if (magnitude > UINT32_C(0x7f800000))
        return (uint16_t)(bits >> 16 | 0x40);
    if (magnitude < UINT32_C(0x00800000))
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float nnf_f32_of_bf16(uint16_t value)
{
    const uint32_t bits = (uint32_t)value << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Pairs of a row of `depth` inputs for a kernel that takes k inputs at once: all of them where they are fewer, else
 * whole ks, the missing weights zeros. The inputs under them must be finite. */
static inline size_t nnf_conv2d_bf16_pairs(size_t depth, size_t k)
{
    const size_t unit = depth > k ? k : 2;
    return (depth + unit - 1) / unit * (unit / 2);
}

/* Bytes of a panel: float biases [width], then bfloat16 weights [pairs][width][2]. */
static inline size_t nnf_conv2d_bf16_panel(size_t width, size_t pairs)
{
    return 4 * width * (pairs + 1);
}

static inline const uint16_t *nnf_conv2d_bf16_weights(const float *panel, size_t width)
{
    return (const uint16_t *)(panel + width);
}

/* One tile: c[i][j] = clamp(bias[j] + sum over taps t and k < 2 * pairs of a[i * lda + tap[t] + k] * weight[t][k][j], lo,
 * hi); a NaN stays a NaN. An output is added in one order, whatever the number of rows and wherever they lie. */
typedef struct nnf_conv2d_bf16_tile {
    size_t rows, columns; /* 1..m, 1..n of the kernel */
    size_t taps, pairs;   /* pairs of a tap, by nnf_conv2d_bf16_pairs; of several taps 2 * pairs are whole ks */
    const size_t *tap;    /* [taps] */
    const uint16_t *a;
    size_t lda;
    const float *w; /* panel, 64-byte aligned */
    float *c;
    size_t ldc;
    float lo, hi;
} nnf_conv2d_bf16_tile;

typedef void (*nnf_conv2d_bf16_nhwc_fn)(const nnf_conv2d_bf16_tile *tile);

/* Rounds `rows` runs of n floats: to[i * ldt + k] = bfloat16 of x[i * ldx + k]. */
typedef void (*nnf_conv2d_gather_bf16_nhwc_fn)(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to,
                                               size_t ldt);

/* Bytes of all panels of a [columns][depth] weight matrix, for kernels of n columns that take k inputs at once. */
size_t nnf_pack_conv2d_bf16_size(size_t columns, size_t depth, size_t n, size_t k);

void nnf_pack_conv2d_bf16(size_t columns, size_t depth, size_t n, size_t k, const float *weights, const float *bias,
                          unsigned char *packed);

#endif
