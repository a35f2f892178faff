/* Convolution as tiles of an implicit matrix product: rows are output pixels, columns output channels, the depth runs
 * over the filter's taps and the input channels of each. FULLY_CONNECTED is the case of one tap.
 *
 * The weights are packed in panels of columns (conv2d_pack.c). A panel is n columns wide, or n/2 where no more than n/2
 * are left; columns beyond the last channel hold zeros. */
#ifndef NNF_CONV2D_H
#define NNF_CONV2D_H

#include <stddef.h>
#include <stdint.h>

/* Width of the panel that has `columns` channels left, for a kernel of n columns. */
static inline size_t nnf_conv2d_width(size_t columns, size_t n)
{
    return columns > n / 2 ? n : n / 2;
}

/* One tile: c[i][j] = clamp(bias[j] + sum over taps t and k < depth of a[t * m + i][k] * weight[t][k][j], lo, hi);
 * a NaN stays a NaN. Reads exactly rows x taps x depth inputs and one panel, writes exactly rows x columns. */
typedef struct nnf_conv2d_f32_tile {
    size_t rows, columns;  /* 1..m, 1..n of the kernel */
    size_t taps, depth;    /* >= 1 */
    const float *const *a; /* [taps][m] addresses of input rows; of each m the first `rows` are used */
    const float *w;        /* panel: width biases, then [taps * depth][width]; 64-byte aligned */
    float *c;
    size_t ldc; /* elements between output rows */
    float lo, hi;
} nnf_conv2d_f32_tile;

typedef void (*nnf_conv2d_f32_nhwc_fn)(const nnf_conv2d_f32_tile *tile);

/* Elements of all panels of a [columns][depth] weight matrix. */
size_t nnf_pack_conv2d_f32_size(size_t columns, size_t depth, size_t n);

/* Packs weights [columns][depth] and biases [columns] for kernels of n columns. */
void nnf_pack_conv2d_f32(size_t columns, size_t depth, size_t n, const float *weights, const float *bias,
                         float *packed);

#endif
