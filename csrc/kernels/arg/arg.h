/* Where the largest values stand [NN 15.39].
 *
 * The bits of every value are xored with `flip` first: all ones (integers) or the sign (float32) turns the order round,
 * the top bit lets signed codes compare as unsigned ones. The first of equal values counts. A NaN beats nothing, and
 * nothing beats a NaN that stands first. count and n >= 1, any alignment. */
#ifndef NNF_ARG_H
#define NNF_ARG_H

#include <stddef.h>
#include <stdint.h>

/* rows: y[i] is the index a < count of the best x[i * count + a], for i < n. */
typedef void (*nnf_arg_f32_rows_fn)(size_t count, size_t n, const float *x, int32_t *y, uint32_t flip);
typedef void (*nnf_arg_s32_rows_fn)(size_t count, size_t n, const int32_t *x, int32_t *y, uint32_t flip);
typedef void (*nnf_arg_qu8_rows_fn)(size_t count, size_t n, const uint8_t *x, int32_t *y, uint32_t flip);

/* across: y[i] is the index a < count of the best x[a * stride + i], for i < n. */
typedef void (*nnf_arg_across_f32_rows_fn)(size_t count, size_t stride, size_t n, const float *x, int32_t *y,
                                           uint32_t flip);
typedef void (*nnf_arg_across_s32_rows_fn)(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y,
                                           uint32_t flip);
typedef void (*nnf_arg_across_qu8_rows_fn)(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y,
                                           uint32_t flip);

#endif
