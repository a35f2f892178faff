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

/* e^(x - low) for x <= 0 and a low that is small beside 1, as exponential(). */
INLINE V exponential_of_difference(V x, V low)
{
    const V least = all(-104.0f);
    const bool is_normal = SLOW_POWERS && all_above(x, all(-87.0f));
    V n;
    const V rest = sub(exponential_rest(is_normal ? x : largest(least, x), &n), low);
    const V e = add(exponential_of_rest(rest), all(1.0f));
    return is_normal ? times_normal_power(e, n) : times_power(zero_above(least, x, e), n);
}

/* x F(x). F(-a) = e^(-a^2 / 2) r(a) for a >= 0, r by a polynomial of 1 / (1 + 0.3 a), within 2.2e-8 of it; from a = 15
 * on it is below every float. What the square loses in its rounding counts in the power. */
INLINE V gelu(V x)
{
    static const float r[] = {-2.0628653466701508e-02f, 1.1246475577354431e-01f,  -2.2828471660614014e-01f,
                              1.9188322126865387e-01f,  -7.9509116709232330e-02f, 9.6204906702041626e-02f,
                              7.8372225165367126e-02f,  1.1023934930562973e-01f,  1.1957132071256638e-01f,
                              1.1968671530485153e-01f};
    const V a = at_most(all(15), size_of(x)), t = divide(all(1), fmadd(a, all(0.3f), all(1)));
    V p = all(r[0]);
    NNF_UNROLL
    for (int k = 1; k < 10; k++)
        p = fmadd(p, t, all(r[k]));
    p = mul(p, t);
    const V half = mul(a, all(-0.5f)), square = mul(a, half);
    const V power = exponential_of_difference(square, fnmadd(a, half, square));
    /* x F(-a), and where x is not below 0, x - a F(-a); a is less than an infinite x. */
    const V tail = mul(mul(unless_below(x, a, x), p), power);
    return unless_below(x, sub(x, tail), tail);
}

/* x times the logistic function of x (c + d x^2), whose argument has a second word for what its roundings lose: where it
 * is far below 0 the power would have too few digits. Beyond 12 the results are x and 0. */
INLINE V gelu_tanh(V x)
{
    const float c = 1.5957692f, c_low = -4.5340680e-8f, d = 7.1354814e-2f, d_low = 2.3988324e-9f;
    const V a = at_most(all(12), size_of(x)), square = mul(a, a), square_low = fnmadd(a, a, square);
    const V term = mul(all(d), square), term_low = fnmadd(all(d), square, term);
    const V w = add(all(c), term), back = sub(w, all(c));
    const V w_low = add(sub(all(c), sub(w, back)), sub(term, back));
    const V rest = fnmadd(all(d), square_low, fmadd(all(d_low), square, sub(add(w_low, all(c_low)), term_low)));
    const V v = mul(a, w), v_low = fmadd(a, rest, negative(fnmadd(a, w, v)));
    const V e = exponential_of_difference(negative(v), v_low), whole = add(all(1), e);
    return unless_below(x, divide(x, whole), mul(divide(x, whole), e));
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
        return SLOW_POWERS && all_above(all(88), x) ? exponential(x) : exponential_at_ends(at_most(all(89), x));
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
