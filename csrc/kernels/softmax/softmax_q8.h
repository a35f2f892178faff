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

/* The natural logarithm in F5 of a sum in F12, at least e^0, 2^19. */
static inline int32_t nnf_logarithm_of_sum(int32_t sum)
{
    const int32_t one = 1 << 25, quarter = one / 4; /* F6 */
    const int32_t fourth_root = 1805811301, square_root = 1518500250; /* of 1/2, F0 */
    /* A power of two is taken off the sum, or off its product with the root of 1/2: what leaves less is used. */
    const int room = __builtin_clz((unsigned)sum) - 1;
    const int other_room = __builtin_clz((unsigned)nnf_srdhm(sum, square_root)) - 1;
    int32_t rest = nnf_raise(nnf_srdhm(sum * (1 << room), square_root), 1), other = nnf_raise(sum, other_room);
    rest = other < rest ? other : rest;
    int32_t power = (11 - room) * one + quarter;
    other = (12 - other_room) * one - quarter;
    power = other > power ? other : power;
    /* ln(rest) as a quotient around the fourth root. */
    const int32_t middle = (int32_t)(((int64_t)rest + fourth_root + 1) >> 1), away = 2 * (rest - fourth_root);
    const int32_t square = nnf_srdhm(away, away);
    const int32_t above = nnf_srdhm(away, rest) + nnf_srdhm(nnf_srdhm(away, square), 117049297);
    const int32_t below = nnf_srdhm(middle, 1057819769 + away + nnf_srdhm(127690142, square)) +
                          nnf_srdhm(638450708, away);
    const int32_t quotient = nnf_srdhm(nnf_rdbpot(above, 6), nnf_reciprocal_of_one_plus(below));
    return 2 * (nnf_srdhm(power, 1488522236) + quotient); /* ln 2 */
}

#endif
