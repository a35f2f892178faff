/* Relations of floats and of integers in vectors. Include after elementwise_integer_simd.h and u8_of_lanes. */
#ifndef NNF_ELEMENTWISE_RELATION_SIMD_H
#define NNF_ELEMENTWISE_RELATION_SIMD_H

#include <stdbool.h>

#include "elementwise/elementwise.h"
#include "elementwise/elementwise_ops.h"
#include "nnf/unroll.h"

/* The opposites are taken of bytes, which are fewer. */
INLINE bool is_opposite(enum byte_op op, const bool is_float)
{
    return op == OP_NOT_EQUAL || (op == OP_LESS_EQUAL && !is_float);
}

INLINE P lanes_where(enum byte_op op, const bool is_float, S a, S b)
{
    const bool is_equal = op == OP_EQUAL || op == OP_NOT_EQUAL;
    if (!is_float)
        return is_equal ? s32_equal(a, b) : op == OP_LESS ? s32_greater(b, a) : s32_greater(a, b);
    const V left = s32_floats(a), right = s32_floats(b);
    return is_equal ? s32_equal_floats(left, right)
                    : op == OP_LESS ? s32_greater_floats(right, left) : s32_at_least_floats(right, left);
}

INLINE B bytes_where(enum byte_op op, const bool is_float, const P *lanes)
{
    const B holds = u8_of_lanes(lanes);
    return is_opposite(op, is_float) ? u8_xor(holds, u8_all(1)) : holds;
}

/* Lanes of x, or of it repeated. */
INLINE S lanes_of(const bool is_float, M live, const void *x, size_t i, const bool one, S first)
{
    if (one)
        return first;
    return is_float ? s32_bits(load(live, (const float *)x + i)) : s32_load(live, (const int32_t *)x + i);
}

INLINE void relate(enum byte_op op, const bool is_float, size_t n, const void *a, const bool one_a, const void *b,
                   const bool one_b, S first_a, S first_b, uint8_t *y)
{
    const M whole = first_lanes(LANES);
    P lanes[BYTES / LANES];
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES) {
        NNF_UNROLL
        for (size_t k = 0; k < BYTES / LANES; k++)
            lanes[k] = lanes_where(op, is_float, lanes_of(is_float, whole, a, i + k * LANES, one_a, first_a),
                                   lanes_of(is_float, whole, b, i + k * LANES, one_b, first_b));
        u8_store_whole(y + i, bytes_where(op, is_float, lanes));
    }
    if (i == n)
        return;
    NNF_UNROLL
    for (size_t k = 0; k < BYTES / LANES; k++) {
        const size_t from = i + k * LANES;
        const bool none = from >= n;
        const M live = first_lanes(none ? 0 : n - from);
        lanes[k] = lanes_where(op, is_float, lanes_of(is_float, live, a, from, one_a || none, first_a),
                               lanes_of(is_float, live, b, from, one_b || none, first_b));
    }
    u8_store(y + i, n - i, bytes_where(op, is_float, lanes));
}

INLINE void relations(enum byte_op op, const bool is_float, size_t n, const void *a, size_t step_a, const void *b,
                      size_t step_b, uint8_t *y)
{
    if (n == 0)
        return;
    const S first_a = is_float ? s32_bits(all(*(const float *)a)) : s32_all(*(const int32_t *)a);
    const S first_b = is_float ? s32_bits(all(*(const float *)b)) : s32_all(*(const int32_t *)b);
    if (step_a && step_b)
        relate(op, is_float, n, a, false, b, false, first_a, first_b, y);
    else if (step_a)
        relate(op, is_float, n, a, false, b, true, first_a, first_b, y);
    else
        relate(op, is_float, n, a, true, b, !step_b, first_a, first_b, y);
}

#define RELATION(name, type, op, is_float)                                                                             \
    void KERNEL_BYTES(name)(size_t n, const type *a, size_t step_a, const type *b, size_t step_b, uint8_t *y)          \
    {                                                                                                                  \
        relations(op, is_float, n, a, step_a, b, step_b, y);                                                           \
    }

RELATION(nnf_equal_f32_flat, float, OP_EQUAL, true)
RELATION(nnf_not_equal_f32_flat, float, OP_NOT_EQUAL, true)
RELATION(nnf_less_f32_flat, float, OP_LESS, true)
RELATION(nnf_less_equal_f32_flat, float, OP_LESS_EQUAL, true)
RELATION(nnf_equal_s32_flat, int32_t, OP_EQUAL, false)
RELATION(nnf_not_equal_s32_flat, int32_t, OP_NOT_EQUAL, false)
RELATION(nnf_less_s32_flat, int32_t, OP_LESS, false)
RELATION(nnf_less_equal_s32_flat, int32_t, OP_LESS_EQUAL, false)

#undef RELATION

#endif
