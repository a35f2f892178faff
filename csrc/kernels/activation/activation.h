/* Functions of one operand over n consecutive elements.
 * n >= 0, any alignment; reads and writes exactly n elements; y may be the same address as x. */
#ifndef NNF_ACTIVATION_H
#define NNF_ACTIVATION_H

#include <stddef.h>
#include <stdint.h>

/* logistic 1 / (1 + e^-x), tanh [NN 14.14], hard_swish x * (min(6, max(0, x + 3)) / 6) [NN 14.99], which divides
 * first so that large x does not overflow; abs, neg, floor, ceil, round with halves to even, sign -1, 0 or 1, sqrt,
 * rsqrt 1 / sqrt(x), exp, log, sin, cos; gelu x F(x) with the normal distribution function F, gelu_tanh
 * x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2; silu x times logistic(x) as a float, by the logistic of the level. */
typedef void (*nnf_unary_f32_flat_fn)(size_t n, const float *x, float *y);

/* y = clamp(x, lo, hi); a NaN stays a NaN. */
typedef void (*nnf_clamp_f32_flat_fn)(size_t n, const float *x, float *y, float lo, float hi);

/* y = max(0, x) + min(0, alpha (e^x - 1)), 0 <= alpha < inf; a NaN stays one. */
typedef void (*nnf_elu_f32_flat_fn)(size_t n, const float *x, float *y, float alpha);

/* y = table[x] for bytes of either sign, read as unsigned. */
typedef void (*nnf_lookup_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256]);

#endif
