/* Floats in vectors. Include after nnf/simd/f32_<isa>.h and KERNEL. */
#ifndef NNF_ELEMENTWISE_F32_SIMD_H
#define NNF_ELEMENTWISE_F32_SIMD_H

#include <stdbool.h>

#include "nnf/unroll.h"

enum op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN, OP_PRELU, OP_SQUARED_DIFFERENCE };

INLINE V apply(enum op op, V a, V b)
{
    switch (op) {
    case OP_ADD:
        return add(a, b);
    case OP_SUB:
        return sub(a, b);
    case OP_MUL:
        return mul(a, b);
    case OP_DIV:
        return divide(a, b);
    case OP_MAX:
        return larger(b, a);
    case OP_MIN:
        return smaller(b, a);
    case OP_SQUARED_DIFFERENCE:
        return mul(sub(a, b), sub(a, b));
    default:
        return unless_below(a, a, mul(a, b));
    }
}

enum { TOGETHER = 4 * LANES }; /* so many elements a round hide what the loop itself costs */

/* As many rounds as there are elements for; returns how many these took. Each vector is written before the next is read:
 * else compilers choose an order of addresses that fetching ahead does not follow, which takes half as long again. */
INLINE size_t rounds(enum op op, size_t n, const float *a, const bool one_a, const float *b, const bool one_b, float *y,
                     V low, V high)
{
    const V first_a = all(*a), first_b = all(*b);
    size_t i = 0;
    for (; i + TOGETHER <= n; i += TOGETHER) {
        NNF_UNROLL
        for (size_t k = 0; k < TOGETHER; k += LANES) {
            const V value = apply(op, one_a ? first_a : load_whole(a + i + k), one_b ? first_b : load_whole(b + i + k));
            store_whole(y + i + k, between(low, high, value));
        }
    }
    return i;
}

INLINE void binary(enum op op, size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                   float lo, float hi)
{
    if (n == 0)
        return;
    const V low = all(lo), high = all(hi), first_a = all(*a), first_b = all(*b);
    size_t i = 0;
    if (step_a && step_b)
        i = rounds(op, n, a, false, b, false, y, low, high);
    else if (step_a)
        i = rounds(op, n, a, false, b, true, y, low, high);
    else if (step_b)
        i = rounds(op, n, a, true, b, false, y, low, high);
    for (; i + LANES <= n; i += LANES) {
        const V value = apply(op, step_a ? load_whole(a + i) : first_a, step_b ? load_whole(b + i) : first_b);
        store_whole(y + i, between(low, high, value));
    }
    if (i == n)
        return;
    const M live = first_lanes(n % LANES);
    const V value = apply(op, step_a ? load(live, a + i) : first_a, step_b ? load(live, b + i) : first_b);
    store(y + i, live, between(low, high, value));
}

#include "elementwise/elementwise_f32_kernels.h"

#endif
