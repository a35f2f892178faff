/* Operations on two operands that TFLite has and NNAPI lacks, over n elements of a row.
 *   op     what to compute
 *   a, b   operands of one type; a step of 1 walks n consecutive elements, a step of 0 repeats the first one
 *   y      n elements of that type, which may be the same address as an operand of step 1; of relations n bytes, apart
 *          from the operands
 * n >= 0, aligned as the type; reads and writes exactly these elements. */
#ifndef NNF_TFL_BINARY_H
#define NNF_TFL_BINARY_H

#include <stddef.h>
#include <stdint.h>

/* Of integers, which wrap: MAX and MIN; QUOTIENT cuts towards zero, FLOOR_DIV rounds down and FLOOR_MOD is what it leaves,
 * all three 0 where b is 0; POW a^b, 1 where b < 0; SHIFT a / 2^b rounded down, b held within 0..bits - 1. */
enum nnf_integer_op {
    NNF_ADD,
    NNF_SUB,
    NNF_MUL,
    NNF_MAX,
    NNF_MIN,
    NNF_XOR,
    NNF_SHIFT,
    NNF_QUOTIENT,
    NNF_FLOOR_DIV,
    NNF_FLOOR_MOD,
    NNF_POW
};

/* y = 1 where the relation holds, else 0. */
enum nnf_relation { NNF_EQUAL, NNF_NOT_EQUAL, NNF_LESS, NNF_LESS_EQUAL };

/* Of floats: ATAN2, and FLOOR_DIV rounded down, in double, rounded once; FLOOR_MOD what fmod leaves, with the sign of b. */
enum nnf_float_op { NNF_F32_ATAN2, NNF_F32_FLOOR_DIV, NNF_F32_FLOOR_MOD };

/* op: of the enum that goes with the kernel: arithmetic, relation, curve. */
typedef void (*nnf_tfl_binary_flat_fn)(size_t n, int op, const void *a, size_t step_a, const void *b, size_t step_b,
                                       void *y);

#endif
