/* Conversion between types of numbers, n elements of each, n >= 0. Reads and writes exactly these elements; x and y do
 * not overlap. */
#ifndef NNF_CONVERT_H
#define NNF_CONVERT_H

#include <stddef.h>
#include <stdint.h>

/* Half precision (IEEE, as its 16 bits) and float32, of any alignment. NaNs keep their sign and the upper bits of their
 * payload and become quiet. To float32 exact. */
typedef void (*nnf_convert_f16_f32_flat_fn)(size_t n, const uint16_t *x, float *y);

/* Rounds to nearest, ties to even; what is too large becomes infinite, what is small a denormal or zero. */
typedef void (*nnf_convert_f32_f16_flat_fn)(size_t n, const float *x, uint16_t *y);

/* Target of a cast. TO: integers wrap; floats are cut towards zero within the integers of the target, a NaN becomes the
 * largest; to float32 they round to nearest, ties to even; B8: 1 where x is not 0 (a NaN is not), else 0. CLAMP: cut
 * towards zero within the integers of the target, a NaN becomes 0. */
enum nnf_cast {
    NNF_TO_QU8,
    NNF_TO_S8,
    NNF_TO_S16,
    NNF_TO_S32,
    NNF_TO_S64,
    NNF_TO_F32,
    NNF_TO_B8,
    NNF_CLAMP_QU8,
    NNF_CLAMP_S32
};

/* From the type in the kernel's name; to: an nnf_cast. x and y are aligned as their types. */
typedef void (*nnf_cast_flat_fn)(size_t n, int to, const void *x, void *y);

#endif
