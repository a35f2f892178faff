/* exp, logistic and tanh in double for the scalar kernels, whose float results are then rounded once. Our own, so that
 * the definition does not move with the C library. */
#ifndef NNF_MATH_SCALAR_H
#define NNF_MATH_SCALAR_H

#include <float.h>
#include <stdint.h>
#include <string.h>

/* e^x for x <= 0, relative error below 1e-15; 0 below -708; a NaN stays one. */
static inline double nnf_exp_neg(double x)
{
    if (x < -708.0)
        return 0.0;
    if (!(x <= 0.0))
        return x > 0.0 ? 1.0 : x;
    const int n = (int)(x * 1.4426950408889634 - 0.5);
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 1.0;
    for (int k = 13; k > 0; k--) /* |r| <= 0.35: r^14 / 14! is below 1e-17 */
        p = 1.0 + p * r / k;
    const uint64_t bits = (uint64_t)(1023 + n) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return p * power;
}

/* As a float, with 0 in place of a subnormal; for x >= 0 and NaN. */
static inline float nnf_normal_or_zero(double x)
{
    return x < FLT_MIN ? 0.0f : (float)x;
}

static inline double nnf_logistic(double x)
{
    const double e = nnf_exp_neg(x < 0 ? x : -x);
    return (x < 0 ? e : 1.0) / (1.0 + e);
}

static inline double nnf_tanh(double x)
{
    const double size = x < 0 ? -x : x;
    if (size < 0.01) { /* 1 - e would cancel; x^9 and on are below 1e-16 of x */
        const double z = x * x;
        return x + x * z * (-1.0 / 3 + z * (2.0 / 15 - z * 17.0 / 315));
    }
    const double e = nnf_exp_neg(-2 * size), y = (1.0 - e) / (1.0 + e);
    return x < 0 ? -y : y;
}

#endif
