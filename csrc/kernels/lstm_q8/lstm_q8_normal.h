/* What layer norm of 16-bit words needs to know of a whole row [NN 14.95]. Header-only. */
#ifndef NNF_LSTM_Q8_NORMAL_H
#define NNF_LSTM_Q8_NORMAL_H

#include "lstm_q8/lstm_q8.h"
#include "nnf/fixedpoint.h"

/* Fraction bits of a normalised word and of its bias; integer bits of a gate before its activation. */
enum { NNF_NORMAL_BITS = 10, NNF_GATE_BITS = 3 };

static inline int64_t nnf_saturated32(int64_t x)
{
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x;
}

static inline int64_t nnf_product32(int64_t a, int64_t b)
{
    return nnf_saturated32((a * b + (INT64_C(1) << 30)) >> 31);
}

/* 32-bit words to `bits` fewer integer bits. */
static inline int64_t nnf_grow32(int64_t x, int bits)
{
    return nnf_saturated32(x * (INT64_C(1) << bits));
}

/* 1 / sqrt(value) of an integer as multiplier and exponent, by five steps of Newton and Raphson [NN 13.5]; what is
 * below one counts as one. */
static inline nnf_fixed nnf_inverse_root(int64_t value)
{
    if (value <= 1)
        return (nnf_fixed){INT32_MAX, 0};
    int shift = 11, pairs = 0;
    for (; value >= 1 << 29; value >>= 2)
        shift++;
    for (; value << 2 * pairs < 1 << 27; pairs++)
        ;
    const int64_t half = nnf_rdbpot((int32_t)(value << 2 * pairs >> 1), 1), one = 1 << 28;
    int64_t root = one;
    for (int i = 0; i < 5; i++) {
        const int64_t cube = nnf_grow32(nnf_product32(nnf_product32(root, root), root), 6);
        root = nnf_grow32(nnf_product32(one + (one >> 1), root) - nnf_product32(half, cube), 3);
    }
    shift -= pairs;
    const int64_t multiplier = nnf_product32(root, 1518500250); /* sqrt(1/2) */
    return (nnf_fixed){(int32_t)(multiplier << (shift < 0 ? -shift : 0)), shift > 0 ? -shift : 0};
}

typedef struct nnf_normal {
    int32_t mean;   /* with NNF_NORMAL_BITS fraction bits */
    nnf_fixed root; /* 1 / deviation */
    nnf_fixed last; /* from normalised to gate words */
} nnf_normal;

/* From the sum and the sum of squares of n words; a: scale of the normalised words. */
static inline nnf_normal nnf_normal_of(size_t n, int64_t sum, int64_t squares, nnf_fixed a)
{
    const int64_t units = (int64_t)n, one = INT64_C(1) << 2 * NNF_NORMAL_BITS;
    const int64_t mean = sum * (1 << NNF_NORMAL_BITS) / units;
    nnf_normal normal = {(int32_t)mean, nnf_inverse_root((squares * (one / units) - mean * mean) / one),
                         {a.multiplier, a.exponent + 15 - NNF_GATE_BITS}};
    if (normal.last.exponent > 31) /* from 2^32 on the left shift moves every bit out */
        normal.last = (nnf_fixed){0, 0};
    return normal;
}

#endif
