/* Fixed-point arithmetic of the reference, scalar [NN 13.4]. Header-only, so that no object built for a newer
 * instruction set can leak its code into others. */
#ifndef NNF_FIXEDPOINT_H
#define NNF_FIXEDPOINT_H

#include <stdint.h>

/* Saturating rounding doubling high multiply. trunc((p + nudge) / 2^31) with the reference's asymmetric nudge equals
 * an arithmetic shift of p + 2^30. */
static inline int32_t nnf_srdhm(int32_t a, int32_t b)
{
    if (a == INT32_MIN && b == INT32_MIN)
        return INT32_MAX;
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

/* x / 2^k to nearest, ties away from zero; 0 <= k <= 31. */
static inline int32_t nnf_rdbpot(int32_t x, int k)
{
    const int32_t mask = (int32_t)((INT64_C(1) << k) - 1);
    const int32_t threshold = (mask >> 1) + (x < 0);
    return (x >> k) + ((x & mask) > threshold);
}

/* x * multiplier * 2^exponent with the reference's double rounding; the left shift wraps. */
static inline int32_t nnf_mbqm(int32_t x, int32_t multiplier, int exponent)
{
    const int left = exponent > 0 ? exponent : 0, right = exponent > 0 ? 0 : -exponent;
    return nnf_rdbpot(nnf_srdhm((int32_t)((uint32_t)x << left), multiplier), right);
}

static inline int32_t nnf_clamp_s32(int32_t x, int32_t lo, int32_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

#endif
