/* What a sum of powers of 8-bit codes becomes, the same for all levels. */
#ifndef NNF_SOFTMAX_Q8_H
#define NNF_SOFTMAX_Q8_H

#include <stdint.h>

#include "nnf/fixedpoint.h"

/* Fa * 2^bits as F(a - bits), saturated; the value stays positive here. */
static inline int32_t nnf_raise(int32_t x, int bits)
{
    return x > (INT32_MAX >> bits) ? INT32_MAX : x * (1 << bits);
}

/* 1 / (1 + a) as F0 for a: F0 in [0, 1], three Newton steps from a linear start [NN 13.5 recip1p]. */
static inline int32_t nnf_reciprocal_of_one_plus(int32_t a)
{
    const int32_t one = 1 << 29; /* F2 */
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) >> 1);
    int32_t x = 1515870810 + nnf_srdhm(half, -1010580540); /* 48/17 - 32/17 half */
    for (int i = 0; i < 3; i++) {
        const int32_t change = nnf_srdhm(x, one - nnf_srdhm(half, x)); /* F4 to F2 */
        x += change > INT32_MAX >> 2 ? INT32_MAX : change < -(INT32_MAX >> 2) ? INT32_MIN : change * 4;
    }
    return nnf_raise(x, 1); /* half of an F2 word is the same word read as F1 */
}

/* The reciprocal of a sum in F12, at least e^0, 2^19, and the shift behind it to parts in steps of 2^-bits. */
static inline int32_t nnf_reciprocal_of_sum(int64_t sum, int bits, int *shift)
{
    /* The sum in [1, 2) of F0; one that outgrows 32 bits gives bits away. */
    const int zeros = __builtin_clzll((unsigned long long)sum) - 32;
    const int64_t scaled = zeros >= 0 ? sum << zeros : sum >> -zeros;
    *shift = 12 - zeros + 31 - bits;
    return nnf_reciprocal_of_one_plus((int32_t)(scaled - (INT64_C(1) << 31)));
}

#endif
