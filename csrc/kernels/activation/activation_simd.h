/* Functions of one float in vectors. Include after nnf/simd/f32_<isa>.h, KERNEL, and logistic, tangent and exponential
 * of V. */
#ifndef NNF_ACTIVATION_SIMD_H
#define NNF_ACTIVATION_SIMD_H

#include "activation/activation.h"
#include "nnf/unroll.h"

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

void KERNEL(nnf_clamp_f32_flat)(size_t n, const float *x, float *y, float lo, float hi)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_whole(y + i, between(all(lo), all(hi), load_whole(x + i)));
    if (i < n)
        store(y + i, first_lanes(n - i), between(all(lo), all(hi), load(first_lanes(n - i), x + i)));
}

void KERNEL(nnf_logistic_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_LOGISTIC, n, x, y);
}

void KERNEL(nnf_tanh_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_TANH, n, x, y);
}

void KERNEL(nnf_hard_swish_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_HARD_SWISH, n, x, y);
}

void KERNEL(nnf_abs_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_ABS, n, x, y);
}

void KERNEL(nnf_neg_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_NEG, n, x, y);
}

void KERNEL(nnf_floor_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_FLOOR, n, x, y);
}

void KERNEL(nnf_sqrt_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_SQRT, n, x, y);
}

void KERNEL(nnf_rsqrt_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_RSQRT, n, x, y);
}

void KERNEL(nnf_exp_f32_flat)(size_t n, const float *x, float *y)
{
    unary(OP_EXP, n, x, y);
}

#endif
