/* Softmax of rows.
 * n >= 1, any alignment; reads and writes exactly n elements a row; y may be the same address as x. */
#ifndef NNF_SOFTMAX_H
#define NNF_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

/* One row: y = e^((x - max) beta) / sum, 0 where that is below FLT_MIN; beta > 0. The scalar row sums in double. */
typedef void (*nnf_softmax_f32_rows_fn)(size_t n, const float *x, float *y, float beta);

/* One row: y = (x - most) beta - log(sum of e^((x - most) beta)), beta of any sign; most is the x whose x beta is the
 * largest. Sums and differences in double. */
typedef nnf_softmax_f32_rows_fn nnf_log_softmax_f32_rows_fn;

/* Both of many rows of few values: n <= NNF_SOFTMAX_NARROW, any number of rows, one behind the other. What a row gives does
 * not depend on its place among them. */
enum { NNF_SOFTMAX_NARROW = 32 };
typedef void (*nnf_softmax_narrow_f32_rows_fn)(size_t rows, size_t n, const float *x, float *y, float beta);
typedef nnf_softmax_narrow_f32_rows_fn nnf_log_softmax_narrow_f32_rows_fn;

/* One row of 8-bit codes [NN 14.25].
 *   power  e^(-d beta scale) in F0 for each difference d = max - code, 0 where the standard drops it, and behind all 256
 *          the same in F12
 * qs8 rows read and write signed codes. */
typedef void (*nnf_softmax_q8_rows_fn)(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512]);

/* Many such rows of few codes: 3 <= n <= NNF_SOFTMAX_NARROW, any number of rows, one behind the other. */
typedef void (*nnf_softmax_narrow_q8_rows_fn)(size_t rows, size_t n, const uint8_t *x, uint8_t *y,
                                              const int32_t power[512]);

/* One row of 8-bit codes with int16 codes from -32768 on for y, in steps of 2^-16. */
typedef void (*nnf_softmax_q8_qs16_rows_fn)(size_t n, const uint8_t *x, int16_t *y, const int32_t power[512]);

/* The logarithm of a softmax of 8-bit codes as LiteRT has it, n <= 4095; y in steps of 2^-4 below the highest code.
 *   distance  d scale in F5 for each difference d, from 0 to 2^30, which gives the lowest code, and behind all 256 the
 *             powers in F12 */
typedef nnf_softmax_q8_rows_fn nnf_log_softmax_q8_rows_fn;

/* One row of int16 codes as LiteRT has it, n <= 65536; y in steps of 2^-15. x - max, by the multiplier (MBQM) and moved by
 * 32767, is a code of `power`, and the fraction of the sum one of `reciprocal`: tables of 513 values whose lines are
 * followed as nnf_curve_qs16_flat does. */
typedef struct nnf_softmax_q16 {
    int32_t multiplier, exponent;
    const int16_t *power, *reciprocal;
} nnf_softmax_q16;

typedef void (*nnf_softmax_qs16_rows_fn)(size_t n, const int16_t *x, int16_t *y, const nnf_softmax_q16 *p);

#endif
