/* Conversion between IEEE half precision (as its 16 bits) and float32, n elements of each, n >= 0, any alignment.
 * Reads and writes exactly these elements; x and y do not overlap. NaNs keep their sign and the upper bits of their
 * payload and become quiet. */
#ifndef NNF_CONVERT_H
#define NNF_CONVERT_H

#include <stddef.h>
#include <stdint.h>

/* Exact. */
typedef void (*nnf_convert_f16_f32_flat_fn)(size_t n, const uint16_t *x, float *y);

/* Rounds to nearest, ties to even; what is too large becomes infinite, what is small a denormal or zero. */
typedef void (*nnf_convert_f32_f16_flat_fn)(size_t n, const float *x, uint16_t *y);

#endif
