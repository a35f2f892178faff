/* Between float32 values and 8-bit codes over n consecutive elements [NN 15.2], and from int32 sums to either.
 * n >= 0, any alignment; reads and writes exactly n elements; x and y do not overlap. */
#ifndef NNF_QUANTIZE_H
#define NNF_QUANTIZE_H

#include <stddef.h>
#include <stdint.h>

#include "nnf/fixedpoint.h"

/* y = clamp(zero + round(x / scale), lo, hi), ties away from zero; a NaN gives hi. The codes are unsigned or signed as
 * zero, lo and hi are; scale > 0. */
typedef void (*nnf_quantize_f32_qu8_flat_fn)(size_t n, const float *x, uint8_t *y, float scale, int32_t zero,
                                             int32_t lo, int32_t hi);

/* y = (x - zero) * scale; a step of 1 walks n scales, a step of 0 repeats the first. qs8 rows read signed codes. */
typedef void (*nnf_dequantize_q8_f32_flat_fn)(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                              size_t step);

/* Where codes lie: 0 <= lo <= hi <= 255; flip: 0x80 for signed codes. */
typedef struct nnf_codes {
    int32_t zero_point, lo, hi;
    uint8_t flip;
} nnf_codes;

/* flip ^ clamp(round(sum * scale) + zero_point, lo, hi), the product in double, ties away from zero: what LiteRT's
 * reference kernel makes of the sums of a FULLY_CONNECTED. A NaN gives lo. */
static inline uint8_t nnf_code_of_sum(int32_t sum, double scale, const nnf_codes *to)
{
    /* One step beyond the clamp is as good as any number beyond it, and fits an int32. */
    const double low = to->lo - to->zero_point - 1, high = to->hi - to->zero_point + 1;
    double steps = sum * scale;
    steps = steps > low ? steps : low;
    steps = steps < high ? steps : high;
    int32_t whole = (int32_t)steps;
    const double rest = steps - whole; /* exact, where steps + 0.5 would round 0.49999999999999994 up */
    whole += (rest >= 0.5) - (rest <= -0.5);
    return (uint8_t)nnf_clamp_s32(whole + to->zero_point, to->lo, to->hi) ^ to->flip;
}

/* y[i * ldy + j] = nnf_code_of_sum of x[i * ldx + j] and scale[j]. */
typedef void (*nnf_requantize_s32_qu8_rows_fn)(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                               const double *scale, const nnf_codes *codes, uint8_t *y, size_t ldy);

/* How n float32 values became codes at run time: each is (code - zero) * step; codes are unsigned, zero is 0..255. */
typedef struct nnf_row_codes {
    float step;
    int32_t zero;
} nnf_row_codes;

/* Codes of n values, n >= 1, as LiteRT quantizes the inputs of operators with int8 weights: over all codes with a zero
 * point, or if not is_asymmetric between 1 and 255 around 128; codes are signed ones with the top bit flipped. Steps are
 * rounded, ties away from zero, before the zero point is added. */
typedef void (*nnf_quantize_row_f32_qu8_flat_fn)(size_t n, const float *x, uint8_t *y, int is_asymmetric,
                                                 nnf_row_codes *row);

/* The same in two, for values that several threads share: the lowest and the highest of 0 and n values, a NaN being
 * neither; and the codes of n values whose row has such a range. */
typedef void (*nnf_range_f32_flat_fn)(size_t n, const float *x, float range[2]);
typedef void (*nnf_quantize_range_f32_qu8_flat_fn)(size_t n, const float *x, uint8_t *y, int is_asymmetric,
                                                   const float range[2], nnf_row_codes *row);

/* What turns sums of such codes times weights into values, for each column: the sum of its weights, its scale, its
 * bias. by_rows: the scale is multiplied by the row's step before the sum is, else after it. */
typedef struct nnf_sum_scales {
    const int32_t *weights;
    const float *scale, *bias;
    int by_rows;
    float lo, hi;
} nnf_sum_scales;

/* clamp((sum - row->zero * weights[j]) * scale[j] * row->step + bias[j], lo, hi) */
static inline float nnf_sum_value(int32_t sum, const nnf_row_codes *row, const nnf_sum_scales *by, size_t j)
{
    const uint32_t excess = (uint32_t)row->zero * (uint32_t)by->weights[j];
    const float plain = (float)(int32_t)((uint32_t)sum - excess);
    float value = by->by_rows ? plain * (row->step * by->scale[j]) : plain * by->scale[j] * row->step;
    value += by->bias[j];
    return value < by->lo ? by->lo : value > by->hi ? by->hi : value;
}

/* y[i * ldy + j] = nnf_sum_value of x[i * ldx + j], for the row codes `row + i * next`, where next is 0 or 1; in place if
 * y is x, and ldy is ldx. */
typedef void (*nnf_dequantize_s32_f32_rows_fn)(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                               const nnf_row_codes *row, size_t next, const nnf_sum_scales *by, float *y,
                                               size_t ldy);

/* y[i * columns + j] = clamp(x[i * columns + j] * (step * scale[j]) + bias[j], lo, hi): such values where the sums are
 * floats, which whole numbers below 2^24 are exactly. */
typedef void (*nnf_scale_f32_rows_fn)(size_t rows, size_t columns, const float *x, float step, const float *scale,
                                      const float *bias, float lo, float hi, float *y);

/* Steps beyond which every code is lo or hi, whatever the zero point. */
#define NNF_QUANTIZE_FAR 512.0f

#endif
