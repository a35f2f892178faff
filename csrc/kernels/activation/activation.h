/* Functions of one operand over n consecutive elements.
 * n >= 0, any alignment; reads and writes exactly n elements; y may be the same address as x. */
#ifndef NNF_ACTIVATION_H
#define NNF_ACTIVATION_H

#include <stddef.h>
#include <stdint.h>

/* logistic 1 / (1 + e^-x), 0 where that is below FLT_MIN; tanh [NN 14.14]; hard_swish x * (min(6, max(0, x + 3)) / 6)
 * [NN 14.99], which divides first so that large x does not overflow; abs, neg, floor, ceil, round with halves to even,
 * sign -1, 0 or 1, sqrt, rsqrt 1 / sqrt(x), exp, log, sin, cos; gelu x F(x) with the normal distribution function F,
 * gelu_tanh x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2; silu x times logistic(x), by the logistic of the level. */
typedef void (*nnf_unary_f32_flat_fn)(size_t n, const float *x, float *y);

/* y = clamp(x, lo, hi); a NaN stays a NaN. */
typedef void (*nnf_clamp_f32_flat_fn)(size_t n, const float *x, float *y, float lo, float hi);

/* y = max(0, x) + min(0, alpha (e^x - 1)), 0 <= alpha < inf; a NaN stays one. */
typedef void (*nnf_elu_f32_flat_fn)(size_t n, const float *x, float *y, float alpha);

/* y = table[x] for bytes of either sign, read as unsigned. */
typedef void (*nnf_lookup_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256]);

/* A table that is straight, or two straight pieces with a step between them or none: y = base + clamp(v >> shift, -128,
 * 127) modulo 256, where v is p + offset as a number of 16 bits with a sign. Of w = 256 clamp(x ^ flip, least, most) +
 * part, p is w slope[0] / 2^16, rounded down, or if is_bent the sum of min(w, limit[0]) slope[0] / 2^16 and of max(w,
 * limit[1]) slope[1] / 2^16, each rounded down. 0 <= shift <= 8. */
typedef struct nnf_line {
    int is_bent, shift;
    uint16_t slope[2], limit[2], offset;
    uint8_t flip, least, most, part, base;
} nnf_line;

typedef void (*nnf_line_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t *y, const nnf_line *line);

#endif
