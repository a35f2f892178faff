/* Element-wise arithmetic over n elements of a row.
 *   a, b   operands; a step of 1 walks n consecutive elements, a step of 0 repeats the first one
 *   y      n elements; may be the same address as an operand of step 1
 * n >= 0, any alignment; reads and writes exactly these elements. */
#ifndef NNF_ELEMENTWISE_H
#define NNF_ELEMENTWISE_H

#include <stddef.h>
#include <stdint.h>

/* y = clamp(a op b, lo, hi); a NaN stays a NaN. add, sub, mul, div; prelu: a >= 0 ? a : a * b; max: b > a ? b : a;
 * min: b < a ? b : a, so that a NaN on either side gives a; squared_difference: (a - b)^2; pow: as IEEE, in double,
 * rounded once. */
typedef void (*nnf_binary_f32_flat_fn)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                       float lo, float hi);

/* y = a op b: add, sub, mul, which wrap; div, rounded down, where a / 0 is 0 and -2^31 / -1 wraps; max, min. */
typedef void (*nnf_binary_s32_flat_fn)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                                       int32_t *y);

/* y = 1 where the relation holds (a == b, a != b, a < b, a <= b; a NaN only differs), else 0. A step of 1 walks n
 * consecutive elements, a step of 0 repeats the first one. */
typedef void (*nnf_compare_f32_flat_fn)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                        uint8_t *y);
typedef void (*nnf_compare_s32_flat_fn)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                                        uint8_t *y);

/* y = a op b on bytes. qu8, qs8: max, min of codes. b8: 1 where the relation of two bytes holds (equal, not_equal,
 * less, less_equal), or where both bytes (and) or one of them (or) are not 0; else 0. */
typedef void (*nnf_binary_u8_flat_fn)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                      uint8_t *y);

/* y = choice ? a : b for items of 1 (qu8), 2 (f16), 4 (s32) or 8 (x64) bytes. */
typedef void (*nnf_select_flat_fn)(size_t n, const uint8_t *choice, const void *a, const void *b, void *y);

/* Codes of ADD as sums of products (elementwise_add.h): z = a factor_a + b factor_b + start of unsigned bytes, less than
 * 2^31 in size; the factors have less than 2^23. Where the fraction of z is below `zone`, z lies close to a whole number.
 * A zone of 0: the constants do not allow it. */
typedef struct nnf_add_plan {
    int32_t factor_a, factor_b, start, zone;
} nnf_add_plan;

/* Constants of quantized arithmetic; shifts lie in 0..31, multipliers in (-2^31, 2^31). */
typedef struct nnf_binary_q8 {
    int32_t zero_a, multiplier_a, shift_a; /* multipliers and right shifts of a and b: add only */
    int32_t zero_b, multiplier_b, shift_b; /* a negative multiplier subtracts */
    int32_t zero_y, multiplier_y, shift_y;
    int32_t left_a, left_y; /* prelu only: left shifts, 0 where the right one is not */
    int32_t lo, hi;         /* clamp of the output codes */
    nnf_add_plan sum;       /* add only: of nnf_plan_add, or zeros */
} nnf_binary_q8;

/* Codes of ADD, SUB, MUL [NN 14.0] and PRELU [NN 15.71]: add raises each operand by 20 bits and scales it,
 * mul takes the product; both scale the result. prelu, whose multipliers are >= 0, scales a (by those of a), or where
 * that is negative the product (by those of y).
 * |a - zero_a| <= 255, so that no sum or product leaves 32 bits. Signed rows read s8 codes. */
typedef void (*nnf_binary_q8_flat_fn)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                      uint8_t *y, const nnf_binary_q8 *p);

#define NNF_ADD_SHIFT 20

#endif
