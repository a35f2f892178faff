/* Fixed-point exp, logistic and tanh of the reference on 16-bit words, scalar [NN 13.5, 15.4]. A word in
 * format Fk has k integer bits and 15 - k fraction bits; F0 spans -1..1. */
#ifndef NNF_WORD16_H
#define NNF_WORD16_H

#include <stdint.h>

static inline int nnf_clamp16(int64_t x)
{
    return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : (int)x;
}

/* Product of Fa and Fb as F(a + b). */
static inline int nnf_mul16(int a, int b)
{
    return nnf_clamp16((a * b + (1 << 14)) >> 15);
}

/* To fewer integer bits: doubles `bits` times and saturates. */
static inline int nnf_grow16(int a, int bits)
{
    const int limit = (1 << (15 - bits)) - 1;
    return a > limit ? INT16_MAX : a < -limit ? INT16_MIN : a * (1 << bits);
}

/* Divides by 2^bits to nearest, ties away from zero; 0 <= bits <= 30. */
static inline int nnf_shrink(int a, int bits)
{
    const int mask = (1 << bits) - 1;
    return (a >> bits) + ((a & mask) > (mask >> 1) + (a < 0));
}

/* e^a as F0 for a: F0 in [-1/4, 0), by the series around -1/8. */
static inline int nnf_exp_quarter16(int a)
{
    const int x = a + (1 << 12), x2 = nnf_mul16(x, x), x3 = nnf_mul16(x2, x), x4 = nnf_mul16(x2, x2);
    const int tail = nnf_shrink(nnf_mul16(nnf_shrink(x4, 2) + x3, 10923) + x2, 1);
    return nnf_clamp16(28918 + nnf_mul16(28918, x + tail));
}

/* e^(-2^j) in F0 for j = -2..4. */
#define NNF_EXP16_FACTORS {25520, 19875, 12055, 4435, 600, 11, 0}

/* e^a as F0 for a <= 0 in F(bits), 1 <= bits <= 7. */
static inline int nnf_exp_neg16(int a, int bits)
{
    static const int16_t factors[] = NNF_EXP16_FACTORS;
    const int fraction = 15 - bits, quarter = 1 << (fraction - 2), low = (a & (quarter - 1)) - quarter, rest = low - a;
    int result = nnf_exp_quarter16(low * (1 << bits));
    for (int j = -2; j < bits && j <= 4; j++) {
        if (rest >> (fraction + j) & 1)
            result = nnf_mul16(result, factors[j + 2]);
    }
    if (bits > 5 && a < -(1 << (fraction + 5)))
        result = 0;
    return a == 0 ? INT16_MAX : result;
}

/* 2 / (1 + a) as F2 for a: F0 in [0, 1], by three steps of Newton and Raphson. */
static inline int nnf_newton16(int a)
{
    const int half = (a + (1 << 15)) >> 1;
    int x = 23130 + nnf_mul16(half, -15420);
    for (int i = 0; i < 3; i++)
        x += nnf_grow16(nnf_mul16(x, (1 << 13) - nnf_mul16(half, x)), 2);
    return x;
}

/* 1 / (1 + e^-a) as F0 for a: F(bits). */
static inline int nnf_logistic16(int a, int bits)
{
    if (a == 0)
        return 1 << 14;
    /* Half of an F2 word is the same word read as F1. */
    const int y = nnf_grow16(nnf_newton16(nnf_exp_neg16(a < 0 ? a : -a, bits)), 1);
    return a > 0 ? y : INT16_MAX - y;
}

/* tanh(a) as F0 for a: F(bits), 0 <= bits <= 6. */
static inline int nnf_tanh16(int a, int bits)
{
    /* Read with one more integer bit the same word means 2a; tanh(a) = (1 - e^-2a) / (1 + e^-2a). */
    const int y = nnf_grow16(nnf_newton16(nnf_exp_neg16(a < 0 ? a : -a, bits + 1)) - (1 << 13), 2);
    return a == 0 ? 0 : a > 0 ? y : -y;
}

#endif
