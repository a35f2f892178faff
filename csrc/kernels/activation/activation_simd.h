/* Functions of one float in vectors. Include after nnf/simd/f64_<isa>.h and KERNEL. */
#ifndef NNF_ACTIVATION_SIMD_H
#define NNF_ACTIVATION_SIMD_H

#include <math.h>
#include <stdbool.h>

#include "activation/activation.h"
#include "nnf/math_simd.h"
#include "nnf/unroll.h"

enum op { OP_LOGISTIC, OP_TANH, OP_HARD_SWISH, OP_ABS, OP_NEG, OP_FLOOR, OP_SQRT, OP_RSQRT, OP_EXP, OP_LOG, OP_SIN,
          OP_COS, OP_CEIL, OP_ROUND, OP_SIGN, OP_GELU, OP_GELU_TANH, OP_SILU };

/* x (1/2 + g(x)) for an odd g, the quotient x P(x^2) / Q(x^2) up to `end`, from where on it is 1/2 to the last bit:
 * within 2e-7 |x|. So results far below 0, as those of definitions in float, have the digits of 1 + erf or 1 + tanh. */
INLINE V gelu_by(V x, float end, const float p[6], const float q[5])
{
    const V near = clamp(x, end), square = mul(near, near);
    V above = all(p[5]), below = all(q[4]);
    NNF_UNROLL
    for (int k = 4; k >= 0; k--) {
        above = fmadd(above, square, all(p[k]));
        below = fmadd(below, square, all(k ? q[k - 1] : 1));
    }
    const V g = clamp(divide(mul(near, above), below), 0.5f);
    return mul(x, add(all(0.5f), g));
}

INLINE V gelu(V x)
{
    static const float p[] = {3.9894222155374598e-01f, 3.4376162295474279e-02f, 4.7072631847803123e-03f,
                              1.7385135691602428e-04f, 6.3565414266233902e-06f, 2.2145303931846682e-08f};
    static const float q[] = {2.5283397335304525e-01f, 2.8940120370418911e-02f, 1.9129816500363902e-03f,
                              7.5102152680141561e-05f, 1.1802124315077777e-06f};
    return gelu_by(x, 5.6f, p, q);
}

INLINE V gelu_tanh(V x)
{
    static const float p[] = {3.9894232295520465e-01f, 3.0296239597921010e-02f, 3.6309970243951959e-03f,
                              1.3286833109784463e-04f, 7.0694512057731655e-06f, 2.4276891226846357e-08f};
    static const float q[] = {2.4343378939637927e-01f, 2.4301479291807940e-02f, 1.2958437549163975e-03f,
                              7.5662019489408292e-05f, 1.3236662036311442e-06f};
    return gelu_by(x, 5.2f, p, q);
}

/* log x = n log(2) + log(1 + f), where x = 2^n (1 + f) with 2/3 <= 1 + f < 4/3; log(1 + f) = f - f^2 / 2 + f^3 p(f),
 * within 9e-10 of it. log(2) is a number of 9 bits, whose product with n is exact, and a rest. */
INLINE V logarithm(V x)
{
    static const float even[] = {1.200677156e-01f, 1.075433120e-01f, 1.430444866e-01f, 1.999959797e-01f,
                                 3.333333433e-01f};
    static const float odd[] = {-1.284512132e-01f, -1.219576374e-01f, -1.667957902e-01f, -2.499981970e-01f};
    const V least = all(0x1p-126f), large = where_above(least, x, mul(x, all(0x1p24f)), x);
    V n;
    const V f = sub(split_power(large, &n), all(1)), square = mul(f, f);
    n = where_above(least, x, sub(n, all(24)), n);
    V p = all(even[0]), q = all(odd[0]); /* two chains, each of half the length */
    NNF_UNROLL
    for (int k = 1; k < 4; k++) {
        p = fmadd(p, square, all(even[k]));
        q = fmadd(q, square, all(odd[k]));
    }
    p = fmadd(q, f, fmadd(p, square, all(even[4])));
    V sum = fmadd(square, fmadd(f, p, all(-0.5f)), mul(n, all(1.7409306e-3f)));
    sum = fmadd(n, all(0.69140625f), add(f, sum));
    sum = where_above(x, all(0x1.fffffep127f), x, sum);
    const V not_above = where_above(zero(), x, all(NAN), sub(x, all(INFINITY))); /* -inf of 0; a NaN stays one */
    return where_above(x, zero(), sum, not_above);
}

/* sin(x + quarters pi / 2), by x = n pi / 2 + r with |r| <= pi / 4, whose sine or cosine it is but for its sign. pi / 2
 * has three parts: up to 8192 the first difference is exact, and the others leave r its digits. Vectors with larger
 * numbers go to the C library, in double as in the definition. */
INLINE V circular(V x, int quarters)
{
    if (!all_above(all(8192), size_of(x))) {
        float each[LANES];
        store_whole(each, x);
        for (int k = 0; k < LANES; k++)
            each[k] = (float)(quarters ? cos((double)each[k]) : sin((double)each[k]));
        return load_whole(each);
    }
    const V base = all(0x1.8p23f), one = all(1), sum = fmadd(x, all(0.636619772f), base), n = sub(sum, base);
    const V r = fnmadd(n, all(-1.7151245e-15f), fnmadd(n, all(-4.3711388e-8f), fnmadd(n, all(1.57079637f), x)));
    const V square = mul(r, r);
    V s = fmadd(all(2.717158168e-06f), square, all(-1.983921102e-04f));
    s = fmadd(fmadd(s, square, all(8.333329111e-03f)), square, all(-1.666666716e-01f));
    s = fmadd(mul(s, square), r, r);
    V c = fmadd(all(-2.719665417e-07f), square, all(2.479934847e-05f));
    c = fmadd(fmadd(c, square, all(-1.388888340e-03f)), square, all(4.166666791e-02f));
    c = fmadd(fmadd(c, square, all(-0.5f)), square, one);
    /* The last bits of such a sum are those of n + quarters. With those of 1, each makes a number above 1 or not. */
    const V turns = add(sum, all((float)quarters));
    const V odd = bits_or(one, bits_and(turns, all(0x1p-149f))), half = bits_or(one, bits_and(turns, all(0x1p-148f)));
    const V value = where_above(odd, one, c, s);
    return where_above(half, one, negative(value), value);
}

/* A small number is its sine, which keeps the sign of 0. */
INLINE V sine(V x)
{
    return where_above(all(0x1p-12f), size_of(x), x, circular(x, 0));
}

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
        return inverse_roots(x);
    case OP_LOG:
        return logarithm(x);
    case OP_SIN:
        return sine(x);
    case OP_COS:
        return circular(x, 1);
    case OP_CEIL:
        return negative(floor_of(negative(x)));
    case OP_ROUND:
        return nearest(x);
    case OP_SIGN: /* a NaN and both zeros stay */
        return where_above(x, zero(), all(1), where_above(zero(), x, all(-1), x));
    case OP_GELU:
        return gelu(x);
    case OP_GELU_TANH:
        return gelu_tanh(x);
    case OP_SILU:
        return mul(x, logistic(x));
    case OP_EXP: /* e^89 is infinite */
        if (CHEAP_ALL_ABOVE && all_above(all(88), x) && all_above(x, all(-87)))
            return exponential_within(x);
        return exponential_at_ends(at_most(all(89), x));
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
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        V value[4];
        NNF_UNROLL
        for (size_t k = 0; k < 4; k++)
            value[k] = between(all(lo), all(hi), load_whole(x + i + k * LANES));
        NNF_UNROLL
        for (size_t k = 0; k < 4; k++)
            store_whole(y + i + k * LANES, value[k]);
    }
    for (; i + LANES <= n; i += LANES)
        store_whole(y + i, between(all(lo), all(hi), load_whole(x + i)));
    if (i < n)
        store(y + i, first_lanes(n - i), between(all(lo), all(hi), load(first_lanes(n - i), x + i)));
}

#define UNARY(name, op)                                                                                                \
    void KERNEL(name)(size_t n, const float *x, float *y)                                                              \
    {                                                                                                                  \
        unary(op, n, x, y);                                                                                            \
    }

UNARY(nnf_logistic_f32_flat, OP_LOGISTIC)
UNARY(nnf_tanh_f32_flat, OP_TANH)
UNARY(nnf_hard_swish_f32_flat, OP_HARD_SWISH)
UNARY(nnf_abs_f32_flat, OP_ABS)
UNARY(nnf_neg_f32_flat, OP_NEG)
UNARY(nnf_floor_f32_flat, OP_FLOOR)
UNARY(nnf_sqrt_f32_flat, OP_SQRT)
UNARY(nnf_rsqrt_f32_flat, OP_RSQRT)
UNARY(nnf_exp_f32_flat, OP_EXP)
UNARY(nnf_log_f32_flat, OP_LOG)
UNARY(nnf_sin_f32_flat, OP_SIN)
UNARY(nnf_cos_f32_flat, OP_COS)
UNARY(nnf_ceil_f32_flat, OP_CEIL)
UNARY(nnf_round_f32_flat, OP_ROUND)
UNARY(nnf_sign_f32_flat, OP_SIGN)
UNARY(nnf_gelu_f32_flat, OP_GELU)
UNARY(nnf_gelu_tanh_f32_flat, OP_GELU_TANH)
UNARY(nnf_silu_f32_flat, OP_SILU)

#undef UNARY

INLINE V elu(V x, V alpha)
{
    return add(largest(zero(), x), at_most(zero(), mul(alpha, exponential_less_1(at_most(zero(), x)))));
}

void KERNEL(nnf_elu_f32_flat)(size_t n, const float *x, float *y, float alpha)
{
    const V slope = all(alpha);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_whole(y + i, elu(load_whole(x + i), slope));
    if (i < n)
        store(y + i, first_lanes(n - i), elu(load(first_lanes(n - i), x + i), slope));
}

#endif
