/* Functions of one float in vectors. Include after nnf/simd/f32_<isa>.h and logistic, tangent and exponential of V. */
#ifndef NNF_ACTIVATION_SIMD_H
#define NNF_ACTIVATION_SIMD_H

#include "activation/activation.h"

#define INLINE static inline __attribute__((always_inline))

enum op { OP_LOGISTIC, OP_TANH, OP_HARD_SWISH, OP_ABS, OP_NEG, OP_FLOOR, OP_SQRT, OP_RSQRT, OP_EXP };

INLINE V apply(enum op op, V x)
{
    switch (op) {
    case OP_LOGISTIC:
        return logistic(x);
    case OP_TANH:
        return tangent(x);
    case OP_ABS:
        return size_of(x);
    case OP_NEG:
        return negative(x);
    case OP_FLOOR:
        return floor_of(x);
    case OP_SQRT:
        return root(x);
    case OP_RSQRT:
        return divide(all(1), root(x));
    case OP_EXP: /* e^89 is infinite */
        return exponential(at_most(all(89), x));
    default:
        return mul(x, divide(between(zero(), all(6), add(x, all(3))), all(6)));
    }
}

INLINE void unary(enum op op, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_whole(y + i, apply(op, load_whole(x + i)));
    if (i < n)
        store(y + i, first_lanes(n - i), apply(op, load(first_lanes(n - i), x + i)));
}

INLINE void clamp_all(size_t n, const float *x, float *y, float lo, float hi)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_whole(y + i, between(all(lo), all(hi), load_whole(x + i)));
    if (i < n)
        store(y + i, first_lanes(n - i), between(all(lo), all(hi), load(first_lanes(n - i), x + i)));
}

#endif
