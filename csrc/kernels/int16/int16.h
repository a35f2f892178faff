/* Arithmetic of int16 tensors as LiteRT's reference kernels have it: element by element, and between the codes of other
 * types. n >= 0, any alignment; reads and writes exactly these elements; y overlaps no operand. */
#ifndef NNF_INT16_H
#define NNF_INT16_H

#include <stddef.h>
#include <stdint.h>

/* x becomes (x << left) * multiplier / 2^31 / 2^right, rounded after each division (nnf_srdhm, nnf_rdbpot); the left
 * shift wraps. 0 <= left, right <= 31; |multiplier| < 2^31. */
typedef struct nnf_scaling {
    int32_t multiplier, left, right;
} nnf_scaling;

typedef struct nnf_binary_q16 {
    nnf_scaling a, b, y; /* a and b: add only */
    int32_t is_minus;  /* add: the scaled b is taken off */
    int32_t lo, hi;
} nnf_binary_q16;

/* y = clamp(scaled(scaled(a) + scaled(b))) and y = clamp(scaled(a * b)), where no sum leaves 32 bits. A step of 1 walks n
 * consecutive elements, a step of 0 repeats the first one. */
typedef void (*nnf_binary_qs16_flat_fn)(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b,
                                        int16_t *y, const nnf_binary_q16 *p);

/* y = clamp(scaled(x - zero_x) + zero_y), by `above` where x - zero_x >= 0, else by `below`. lo - zero_y and hi - zero_y
 * are int32 numbers. */
typedef struct nnf_rescale {
    nnf_scaling above, below;
    int32_t zero_x, zero_y, lo, hi;
} nnf_rescale;

typedef void (*nnf_rescale_flat_fn)(size_t n, const void *x, void *y, const nnf_rescale *p);

/* A curve by lines between the table's 513 values at codes 128 apart, rounded half up. */
typedef void (*nnf_curve_qs16_flat_fn)(size_t n, const int16_t *x, int16_t *y, const int16_t *table);

/* Logistic function and tanh by the upper half of one symmetric curve, whose 256 values in `table` are lines' ends. With
 * t = (x * multiplier + half) >> right in 32 bits that wrap, half being 2^right / 2, and v the value at |t| / 2^bits in
 * steps of 2^-bits, `cap` beyond the table:
 *   y = ((t < 0 ? sum - v - 1 : v - less) + 2^shift / 2) >> shift */
typedef struct nnf_sigmoid_q16 {
    int32_t multiplier, right, bits, cap, less, sum, shift;
    const uint16_t *table;
} nnf_sigmoid_q16;

typedef void (*nnf_sigmoid_qs16_flat_fn)(size_t n, const int16_t *x, int16_t *y, const nnf_sigmoid_q16 *p);

#endif
