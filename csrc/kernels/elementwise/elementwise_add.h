/* Factors for ADD of 8-bit codes as one sum of products (elementwise_add_simd.h). */
#ifndef NNF_ELEMENTWISE_ADD_H
#define NNF_ELEMENTWISE_ADD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "elementwise/elementwise.h"

enum {
    FRACTION = 21,
    RARE = 9, /* in so many codes, as a power of two, at most one may lie close: else the exact kernel is the faster */
};

/* 2^exponent, of a number that is no subnormal. */
static inline double nnf_two_to(int exponent)
{
    const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int32_t nnf_nearest(double x) { return (int32_t)(x < 0 ? x - 0.5 : x + 0.5); }

/* Fills in p->sum from the other constants of an add. */
static inline void nnf_plan_add(bool is_signed, nnf_binary_q8 *p)
{
    p->sum = (nnf_add_plan){0};
    const double one = 1 << FRACTION, scale_y = p->multiplier_y * nnf_two_to(NNF_ADD_SHIFT - 31 - p->shift_y);
    const double a = p->multiplier_a * nnf_two_to(-31 - p->shift_a) * scale_y;
    const double b = p->multiplier_b * nnf_two_to(-31 - p->shift_b) * scale_y;
    if (p->multiplier_y <= 0 || 255 * (fabs(a) + fabs(b)) + 256 >= nnf_two_to(31 - FRACTION))
        return;
    const int32_t factor_a = nnf_nearest(a * one), factor_b = nnf_nearest(b * one);
    /* Errors of the factors, at codes around 128, of the standard, and of what is no whole number below. */
    const double off_a = a - factor_a / one, off_b = b - factor_b / one;
    const double error = 128 * (fabs(off_a) + fabs(off_b)) + 3 * nnf_two_to(-p->shift_y) + 2 / one;
    const int32_t zone = (int32_t)(2 * error * one) + 1;
    if (zone > 1 << (FRACTION - RARE))
        return;
    /* The zone around a whole number becomes the one above it. */
    const double zero_a = p->zero_a + (is_signed ? 128 : 0), zero_b = p->zero_b + (is_signed ? 128 : 0);
    const double start = p->zero_y + 0.5 - a * zero_a - b * zero_b + 128 * (off_a + off_b) + 0.5 * zone / one;
    p->sum = (nnf_add_plan){factor_a, factor_b, nnf_nearest(start * one), zone};
}

#endif
