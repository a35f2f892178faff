/* exp, expm1, logistic and tanh of floats in vectors, and what pow needs of doubles. Include after nnf/simd/f64_<isa>.h.
 *
 * Largest relative error, found against double: exp 1.2e-7, expm1, logistic and tanh 2e-7. Polynomials are near-minimax fits
 * by iteratively reweighted least squares. */
#ifndef NNF_MATH_SIMD_H
#define NNF_MATH_SIMD_H

#include "nnf/unroll.h"

/* x = n log(2) + r with |r| <= log(2)/2; e^r - 1 = r + r^2 q(r), q within 3e-9. */
static inline V exponential_near(V x, V *n)
{
    *n = nearest_product(x, all(1.44269504f));
    const V r = fnmadd(*n, all(-2.12194440e-4f), fnmadd(*n, all(0.693359375f), x));
    V p = all(1.381422160193324e-03f);
    p = fmadd(p, r, all(8.36889911442995e-03f));
    p = fmadd(p, r, all(4.166840389370918e-02f));
    p = fmadd(p, r, all(1.666651964187622e-01f));
    p = fmadd(p, r, all(4.999999403953552e-01f));
    return fmadd(p, mul(r, r), r);
}

/* e^x for -87 <= x <= 88 */
static inline V exponential_within(V x)
{
    V n;
    const V e = exponential_near(x, &n);
    return times_normal_power(add(e, all(1.0f)), n);
}

/* e^x = 2^n e^r for x <= 89, from where on it is infinite; a NaN stays one. Where x is below -104 the result is below half
 * of the smallest subnormal: a factor of 0 in time spares processors the underflow, which costs them hundreds of cycles
 * a vector, as masks of attention make them. */
static inline V exponential_at_ends(V x)
{
    const V least = all(-104.0f);
    V n;
    const V e = exponential_near(largest(least, x), &n);
    return times_power(zero_above(least, x, add(e, all(1.0f))), n);
}

/* The same for x <= 88, with 0 for what is below 2^-126, for parts of a sum and for gates: products and quotients of
 * subnormals cost some processors more than a hundred cycles a vector. */
static inline V exponential(V x)
{
    const V least = all(-87.3365f);
    V n;
    if (CHEAP_ALL_ABOVE && all_above(x, least))
        return exponential_within(x);
    const V e = exponential_near(largest(least, x), &n);
    return zero_above(least, x, times_normal_power(add(e, all(1.0f)), n));
}

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1) for x <= 0, which keeps its digits near 0; below -25 it is -1. A NaN stays one. */
static inline V exponential_less_1(V x)
{
    V n;
    const V e = exponential_near(largest(all(-25.0f), x), &n), power = times_normal_power(all(1.0f), n);
    return fmadd(power, e, sub(power, all(1.0f)));
}

/* 1 / (1 + e^-x), by e^-|x| so that neither end loses digits; 0 where below 2^-126. */
static inline V logistic(V x)
{
    const V one = all(1.0f), e = exponential(bits_or(all(-0.0f), x));
    return divide(unless_below(x, one, e), add(one, e));
}

/* -e / (2 + e) with the sign of x, e = e^-2|x| - 1. */
static inline V tangent(V x)
{
    const V e = exponential_less_1(mul(size_of(x), all(-2.0f)));
    return bits_or(divide(size_of(e), add(all(2.0f), e)), bits_and(x, all(-0.0f)));
}

/* e^r - 1 for |r| <= log(2)/2, by its series up to r^11: relative error below 1e-13. */
static inline D expm1_near(D r)
{
    static const double inverse[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                     1.0 / 24, 1.0 / 6, 1.0 / 2};
    D p = f64_all(1.0 / 39916800);
    NNF_UNROLL
    for (int k = 0; k < 9; k++)
        p = f64_fmadd(p, r, f64_all(inverse[k]));
    return f64_fmadd(p, f64_mul(r, r), r);
}

#endif
