/* ADD of 8-bit codes by products of 16 bits, on x86. Include after elementwise_quick_simd.h and KERNEL_ADD. */
#ifndef NNF_ELEMENTWISE_PAIRS_SIMD_H
#define NNF_ELEMENTWISE_PAIRS_SIMD_H

#include "elementwise/elementwise_add.h"
#include "nnf/unroll.h"

/* Factors in two digits, of 16 bits and of 8, those of a and b in one lane. */
typedef struct T {
    C high, low, start, fraction;
    int32_t zone;
} T;

static C beside(int32_t a, int32_t b) { return codes_all((int32_t)(((uint32_t)b << 16) | ((uint32_t)a & 0xFFFF))); }

static T factors_of(const nnf_add_plan *p)
{
    const int32_t low_a = (int8_t)p->factor_a, low_b = (int8_t)p->factor_b;
    return (T){beside((p->factor_a - low_a) / 256, (p->factor_b - low_b) / 256), beside(low_a, low_b),
               codes_all(p->start), codes_all((1 << FRACTION) - 1), p->zone};
}

/* z of pairs of a and b, 16 bits each. */
INLINE C products(const T *p, C pairs)
{
    const C high = codes_raise(codes_mul_short(pairs, p->high), 8);
    return codes_add(codes_add(high, codes_mul_short(pairs, p->low)), p->start);
}

INLINE B sums(const T *p, const bool is_signed, B a, B b, int *close)
{
    const B none = u8_all(0), low = u8_pairs_low(a, b), high = u8_pairs_high(a, b);
    const C z[] = {products(p, u8_pairs_low(low, none)), products(p, u8_pairs_high(low, none)),
                   products(p, u8_pairs_low(high, none)), products(p, u8_pairs_high(high, none))};
    C code[4], nearest = p->fraction;
    NNF_UNROLL
    for (int k = 0; k < 4; k++) {
        nearest = codes_min(nearest, codes_and(z[k], p->fraction));
        code[k] = codes_lower(z[k], FRACTION);
    }
    *close = codes_some_below(nearest, p->zone);
    return codes_pack_near(is_signed, code);
}

#include "elementwise/elementwise_add_simd.h"

#endif
