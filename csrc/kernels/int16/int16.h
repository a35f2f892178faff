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

/* y = clamp(round(x / scale)) to all codes, ties away from zero, a NaN gives the lowest; scale > 0. */
typedef void (*nnf_quantize_f32_qs16_flat_fn)(size_t n, const float *x, int16_t *y, float scale);

/* y = x * scale. */
typedef void (*nnf_dequantize_qs16_f32_flat_fn)(size_t n, const int16_t *x, float *y, float scale);

/* Both bytes of int16 words: x = 256 * (high - 128) + low. */
typedef void (*nnf_split_qs16_flat_fn)(size_t n, const int16_t *x, uint8_t *high, uint8_t *low);

/* y[i * ldy + j] of sums v = 256 * high[i * ldx + j] + low[i * ldx + j] + offset[j], in 64 bits that wrap:
 *   wide  (v * multiplier[j] + 2^shift[j] / 2) >> shift[j], multipliers 0..32767, 1 <= shift <= 62; its lower 32 bits
 *   s32   MBQM of the lower 32 bits of v by multiplier[j] >= 0 and exponent[j], -31..31
 *   real  v * scale[j] in double, rounded half away from zero; |v| < 2^53
 * each clamped to lo..hi. high may be NULL, for zeros. */
typedef struct nnf_word_sums {
    size_t rows, columns, ldx, ldy;
    const int32_t *high, *low;
    int16_t *y;
    int32_t lo, hi;
    const int64_t *offset;
    const int32_t *multiplier, *shift; /* s32: exponents */
    const double *scale;
} nnf_word_sums;

typedef void (*nnf_requantize_qs16_rows_fn)(const nnf_word_sums *p);

#endif
