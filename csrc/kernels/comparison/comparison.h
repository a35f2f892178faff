/* Comparisons and choices over n elements of a row; booleans are bytes, 0 or not.
 * n >= 0, any alignment; reads and writes exactly these elements; y overlaps nothing. */
#ifndef NNF_COMPARISON_H
#define NNF_COMPARISON_H

#include <stddef.h>
#include <stdint.h>

/* y = 1 where the relation holds (a == b, a != b, a < b, a <= b; a NaN only differs), else 0. A step of 1 walks n
 * consecutive elements, a step of 0 repeats the first one. */
typedef void (*nnf_compare_f32_flat_fn)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                        uint8_t *y);
typedef void (*nnf_compare_s32_flat_fn)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                                        uint8_t *y);

/* y = choice ? a : b for items of 1 or 4 bytes. */
typedef void (*nnf_select_qu8_flat_fn)(size_t n, const uint8_t *choice, const uint8_t *a, const uint8_t *b,
                                       uint8_t *y);
typedef void (*nnf_select_s32_flat_fn)(size_t n, const uint8_t *choice, const int32_t *a, const int32_t *b,
                                       int32_t *y);

#endif
