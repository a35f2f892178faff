/* Integers and bytes in vectors. Include after nnf/simd/s32_<isa>.h, nnf/simd/u8_<isa>.h, s32_div and KERNEL. */
#ifndef NNF_ELEMENTWISE_INTEGER_SIMD_H
#define NNF_ELEMENTWISE_INTEGER_SIMD_H

#include <stdbool.h>

#include "elementwise/elementwise.h"
#include "elementwise/elementwise_ops.h"
#include "nnf/unroll.h"

INLINE S word(enum word_op op, S a, S b)
{
    switch (op) {
    case OP_ADD:
        return s32_add(a, b);
    case OP_SUB:
        return s32_sub(a, b);
    case OP_MUL:
        return s32_mul(a, b);
    case OP_DIV:
        return s32_div(a, b);
    case OP_MAX:
        return s32_max(a, b);
    default:
        return s32_min(a, b);
    }
}

INLINE void words(enum word_op op, size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                  int32_t *y)
{
    if (n == 0)
        return;
    S left = s32_all(*a), right = s32_all(*b);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        if (step_a)
            left = s32_load_whole(a + i);
        if (step_b)
            right = s32_load_whole(b + i);
        s32_store_whole(y + i, word(op, left, right));
    }
    if (i == n)
        return;
    const M live = first_lanes(n - i);
    if (step_a)
        left = s32_load(live, a + i);
    if (step_b)
        right = s32_load(live, b + i);
    s32_store(y + i, live, word(op, left, right));
}

INLINE B byte(enum byte_op op, B a, B b)
{
    switch (op) {
    case OP_LARGER:
        return u8_max(a, b);
    case OP_SMALLER:
        return u8_min(a, b);
    case OP_LARGER_SIGNED:
        return u8_max_signed(a, b);
    case OP_SMALLER_SIGNED:
        return u8_min_signed(a, b);
    case OP_EQUAL:
        return u8_equal(a, b);
    case OP_NOT_EQUAL:
        return u8_not_equal(a, b);
    case OP_LESS:
        return u8_less(a, b);
    case OP_LESS_EQUAL:
        return u8_less_equal(a, b);
    case OP_AND:
        return u8_min(u8_min(a, b), u8_all(1));
    default:
        return u8_min(u8_or(a, b), u8_all(1));
    }
}

enum { TOGETHER = 4 * BYTES }; /* so many bytes a round hide what the loop itself costs */

/* As many rounds as there are bytes for; returns how many these took. */
INLINE size_t rounds(enum byte_op op, size_t n, const uint8_t *a, const bool one_a, const uint8_t *b, const bool one_b,
                     uint8_t *y)
{
    const B first_a = u8_all(*a), first_b = u8_all(*b);
    size_t i = 0;
    for (; i + TOGETHER <= n; i += TOGETHER) {
        B value[TOGETHER / BYTES];
        NNF_UNROLL
        for (size_t k = 0; k < TOGETHER; k += BYTES)
            value[k / BYTES] = byte(op, one_a ? first_a : u8_load_whole(a + i + k),
                                    one_b ? first_b : u8_load_whole(b + i + k));
        NNF_UNROLL
        for (size_t k = 0; k < TOGETHER; k += BYTES)
            u8_store_whole(y + i + k, value[k / BYTES]);
    }
    return i;
}

INLINE void bytes(enum byte_op op, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                  uint8_t *y)
{
    if (n == 0)
        return;
    B left = u8_all(*a), right = u8_all(*b);
    size_t i = 0;
    if (step_a && step_b)
        i = rounds(op, n, a, false, b, false, y);
    else if (step_a)
        i = rounds(op, n, a, false, b, true, y);
    else if (step_b)
        i = rounds(op, n, a, true, b, false, y);
    for (; i + BYTES <= n; i += BYTES) {
        if (step_a)
            left = u8_load_whole(a + i);
        if (step_b)
            right = u8_load_whole(b + i);
        u8_store_whole(y + i, byte(op, left, right));
    }
    if (i == n)
        return;
    if (step_a)
        left = u8_load(n - i, a + i);
    if (step_b)
        right = u8_load(n - i, b + i);
    u8_store(y + i, n - i, byte(op, left, right));
}

#include "elementwise/elementwise_integer_kernels.h"

#endif
