/* 3x3 convolution with stride 1 by Winograd's F(4x4, 3x3): a patch of 6x6 inputs becomes 4x4 outputs with 36 products
 * per pair of channels instead of 144. And of a line of 3 taps by F(4, 3): 6 inputs become 4 outputs with 6 products
 * instead of 12.
 *
 *   v = B^T d B    m[k] = sum over input channels of v[k] * u[k]    y = A^T m A    with u = G g G^T, made at prepare
 *   v = d B        likewise                                         y = m A             u = g G^T, of a line
 *
 * The polynomials meet at 0, +-a, +-b and infinity with a = sqrt(1/2), b = sqrt(2). Beside the usual 0, +-1, +-2 that
 * costs nothing and keeps the matrices' entries near 1: with 256 channels the worst error against float64 is 5.2e-7 of
 * the output's range, that of adding up the products one by one 5.4e-7, with the usual points 1.8e-6.
 *
 *   B^T rows: d0 - 5/2 d2 + d4;  (d4 - 2 d2) +- a (d3 - 2 d1);  (d4 - d2/2) +- b (d3 - d1/2);  d1 - 5/2 d3 + d5
 *   A^T rows, s = m1 + m2, t = m1 - m2, p = m3 + m4, q = m3 - m4:
 *             m0 + s + p;  a t + b q;  s/2 + 2 p;  a^3 t + b^3 q + m5 */
#ifndef NNF_CONV2D_WINOGRAD_H
#define NNF_CONV2D_WINOGRAD_H

#include <stddef.h>

enum { NNF_WINOGRAD_OUT = 4, NNF_WINOGRAD_IN = 6, NNF_WINOGRAD_TAPS = 3, NNF_WINOGRAD_PRODUCTS = 36 };

/* Products of a patch for each pair of channels. */
static inline size_t nnf_winograd_products(int is_line)
{
    return is_line ? NNF_WINOGRAD_IN : NNF_WINOGRAD_PRODUCTS;
}

#define NNF_WINOGRAD_A 0.70710678118654752f
#define NNF_WINOGRAD_B 1.41421356237309505f
#define NNF_WINOGRAD_A3 0.35355339059327376f
#define NNF_WINOGRAD_B3 2.82842712474619010f

/* One patch: v[k * stride + c] for every channel, of d[i][j] = x[i * row + j * pixel + c] where top <= i < bottom and
 * left <= j < right, else 0; of a line i is 0. Reads exactly those inputs, writes exactly products x channels. */
typedef struct nnf_winograd_patch {
    size_t channels, row, pixel, stride;
    size_t top, bottom, left, right; /* within 0..6; top and bottom of a line within 0..1 */
    int is_line;
} nnf_winograd_patch;

typedef void (*nnf_conv2d_winograd_input_f32_nhwc_fn)(const nnf_winograd_patch *p, const float *x, float *v);

/* One patch: y[i * row + j * pixel + c] = clamp(bias[c] + (A^T m A)[i][j], lo, hi) for i < height, j < width, of
 * m[k * stride + c]. Returns whether all of A^T m A is finite, what lies beyond height and width included; where it is
 * not, an infinity of one input may have spread to outputs that do not read it. */
typedef struct nnf_winograd_result {
    size_t channels, row, pixel, stride;
    size_t height, width; /* 1..4; the height of a line is 1 */
    float lo, hi;
    int is_line;
} nnf_winograd_result;

typedef int (*nnf_conv2d_winograd_output_f32_nhwc_fn)(const nnf_winograd_result *p, const float *m, const float *bias,
                                                      float *y);

/* u of a filter [units][3][3][channels], of a line [units][3][channels], as the panels of a convolution kernel of n
 * columns (conv2d/conv2d.h) with biases of zero: for every n units a panel for each product, `panel` floats apart,
 * panel >= n * (channels + 1). Of missing units u is zero. */
void nnf_pack_conv2d_winograd_f32(int is_line, size_t units, size_t channels, size_t n, size_t panel,
                                  const float *filter, float *packed);

#endif
