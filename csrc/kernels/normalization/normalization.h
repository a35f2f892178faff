/* Normalisations [NN 14.11, 14.13, 15.57].
 * Sizes >= 1, any alignment; y does not overlap x. Sums are in double everywhere: squares of floats fit. */
#ifndef NNF_NORMALIZATION_H
#define NNF_NORMALIZATION_H

#include <stddef.h>
#include <stdint.h>

/* One row: y = x / max(root of the sum of squares, 1e-6). */
typedef void (*nnf_l2_norm_f32_rows_fn)(size_t n, const float *x, float *y);

/* One row of codes around zero_x, in fixed point. Output codes are around 128 (qu8) or 0 (qs8).
 * once: the product is rounded once less, as the reference does for signed codes along the last axis. */
typedef void (*nnf_l2_norm_q8_rows_fn)(size_t n, const uint8_t *x, uint8_t *y, int32_t zero_x, int once);

/* One row: y[i] = x[i] (bias + alpha s)^-beta, s the sum of the squares of x[i - radius .. i + radius] inside the row;
 * radius < n. sums is memory for 2 (n + radius) doubles. The fast rows know beta 0.5, 0.75 and 1 and take what is left
 * to the scalar one. */
typedef struct nnf_lrn {
    size_t radius;
    double bias, alpha, beta;
} nnf_lrn;

typedef void (*nnf_lrn_f32_rows_fn)(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums);
void nnf_lrn_f32_rows__scalar(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums);

/* n channels (nchw: 1) of `pixels` values, pixel i of them at i * stride (nchw: 1):
 * y = (x - mean) gamma / root(variance + epsilon) + beta. */
typedef struct nnf_instance_norm {
    size_t pixels, stride;
    double gamma, beta, epsilon;
} nnf_instance_norm;

typedef void (*nnf_instance_norm_f32_fn)(const nnf_instance_norm *p, size_t n, const float *x, float *y);

/* Rows of n values: y = (x - mean) / root(variance + epsilon) * gamma[i] + beta[i], in floats, each step rounded, but for
 * the sums; as networks write it:
 *   is_folded   x factor + (beta - mean factor), where factor = 1 / root * gamma; has both
 *   divides     (x - mean) / root, else (x - mean) (1 / root) */
typedef struct nnf_layer_norm {
    float epsilon;
    int is_folded, divides, has_gamma, has_beta;
} nnf_layer_norm;

typedef void (*nnf_layer_norm_f32_rows_fn)(const nnf_layer_norm *p, size_t rows, size_t n, const float *x,
                                           const float *gamma, const float *beta, float *y);

#endif
