/* ADD of 8-bit codes by sums of products for most of them, on x86. Include after elementwise_quick_simd.h.
 *
 * In real numbers the code is floor(z), z = A (a - zero_a) + B (b - zero_b) + zero_y + 1/2, and the standard's roundings
 * move z by less than 3 * 2^-shift_y. Here z is an integer with FRACTION binary digits behind the point: where it lies
 * further from a whole number than both errors together, floor(z) is the code. The few vectors with another lane in them
 * go through the exact arithmetic. */
#ifndef NNF_ELEMENTWISE_ADD_SIMD_H
#define NNF_ELEMENTWISE_ADD_SIMD_H

#include "elementwise/elementwise_add.h"
#include "nnf/unroll.h"

/* Factors in two digits, of 16 bits and of 8, those of a and b in one lane. */
typedef struct factors {
    C high, low, start, fraction;
    int32_t zone;
} factors;

static C beside(int32_t a, int32_t b) { return codes_all((int32_t)(((uint32_t)b << 16) | ((uint32_t)a & 0xFFFF))); }

static factors factors_of(const nnf_add_plan *p)
{
    const int32_t low_a = (int8_t)p->factor_a, low_b = (int8_t)p->factor_b;
    return (factors){beside((p->factor_a - low_a) / 256, (p->factor_b - low_b) / 256), beside(low_a, low_b),
                     codes_all(p->start), codes_all((1 << FRACTION) - 1), p->zone};
}

/* z of pairs of a and b, 16 bits each. */
INLINE C products(const factors *f, C pairs)
{
    const C high = codes_raise(codes_mul_short(pairs, f->high), 8);
    return codes_add(codes_add(high, codes_mul_short(pairs, f->low)), f->start);
}

/* Codes of unsigned bytes a and b, saturated; close: set where one is not sure. */
INLINE B sums(const factors *f, const bool is_signed, B a, B b, int *close)
{
    const B none = u8_all(0), low = u8_pairs_low(a, b), high = u8_pairs_high(a, b);
    const C z[] = {products(f, u8_pairs_low(low, none)), products(f, u8_pairs_high(low, none)),
                   products(f, u8_pairs_low(high, none)), products(f, u8_pairs_high(high, none))};
    C code[4], least = f->fraction;
    NNF_UNROLL
    for (int k = 0; k < 4; k++) {
        least = codes_min(least, codes_and(z[k], f->fraction));
        code[k] = codes_lower(z[k], FRACTION);
    }
    *close = codes_some_below(least, f->zone);
    return codes_pack_near(is_signed, code);
}

INLINE void add_codes(const bool is_signed, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                      uint8_t *y, const nnf_binary_q8 *c, nnf_binary_q8_flat_fn exact)
{
    size_t i = 0, unsure = 0;
    if (n >= BYTES && c->sum.zone) {
        const factors by = factors_of(&c->sum);
        const B flip = u8_all(is_signed ? 128 : 0), lo = u8_all((uint8_t)c->lo), hi = u8_all((uint8_t)c->hi);
        /* Operands whose sums are often whole numbers, as of equal scales, are for the exact kernel. */
        for (; i + BYTES <= n && unsure * BYTES * 8 <= i + 8 * BYTES; i += BYTES) {
            int close;
            const B first = step_a ? u8_load_whole(a + i) : u8_all(*a);
            const B second = step_b ? u8_load_whole(b + i) : u8_all(*b);
            const B code = sums(&by, is_signed, u8_xor(first, flip), u8_xor(second, flip), &close);
            if (close) {
                exact(BYTES, a + i * step_a, step_a, b + i * step_b, step_b, y + i, c);
                unsure++;
            } else {
                u8_store_whole(y + i, is_signed ? u8_min_signed(u8_max_signed(code, lo), hi)
                                                : u8_min(u8_max(code, lo), hi));
            }
        }
    }
    if (i < n)
        exact(n - i, a + i * step_a, step_a, b + i * step_b, step_b, y + i, c);
}

void KERNEL_CODES(nnf_add_qu8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y, const nnf_binary_q8 *p)
{
    add_codes(false, n, a, step_a, b, step_b, y, p, exact_add_qu8);
}

void KERNEL_CODES(nnf_add_qs8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y, const nnf_binary_q8 *p)
{
    add_codes(true, n, a, step_a, b, step_b, y, p, exact_add_qs8);
}

#endif
