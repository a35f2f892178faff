/* Functions of one float in vectors. Include after nnf/simd/f64_<isa>.h and KERNEL. */
#ifndef NNF_ACTIVATION_SIMD_H
#define NNF_ACTIVATION_SIMD_H

#include <math.h>

#include "activation/activation.h"
#include "nnf/math_simd.h"
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

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1) keeps its digits near 0; below -50 it is -1. */
INLINE D elu(D x, D alpha)
{
    const D zero = f64_all(0), one = f64_all(1.0), most = f64_all(700.0);
    const D within = f64_larger(f64_all(-50.0), f64_smaller(most, x));
    const D n = f64_nearest(f64_mul(within, f64_all(1.4426950408889634)));
    D r = f64_fmadd(n, f64_all(-6.93147180369123816490e-01), within);
    r = f64_fmadd(n, f64_all(-1.90821492927058770002e-10), r);
    const D power = f64_power(n);
    D e = f64_fmadd(power, expm1_near(r), f64_sub(power, one));
    e = f64_where_above(x, most, f64_all(INFINITY), e);
    return f64_add(f64_larger(zero, x), f64_smaller(f64_mul(alpha, e), zero)); /* a NaN product counts as 0 */
}

INLINE V elu_of(V x, D alpha)
{
    D parts[PARTS];
    NNF_UNROLL
    for (int part = 0; part < PARTS; part++)
        parts[part] = elu(f64_part(x, part), alpha);
    return f64_floats(parts);
}

void KERNEL(nnf_elu_f32_flat)(size_t n, const float *x, float *y, float alpha)
{
    const D slope = f64_all((double)alpha);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_whole(y + i, elu_of(load_whole(x + i), slope));
    if (i < n)
        store(y + i, first_lanes(n - i), elu_of(load(first_lanes(n - i), x + i), slope));
}

#endif
