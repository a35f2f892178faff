/* ADD and MUL of 8-bit codes where their constants are usual ones. Include after elementwise_q8_simd.h,
 * nnf/simd/u8_<isa>.h and KERNEL_CODES, on x86. */
#ifndef NNF_ELEMENTWISE_QUICK_SIMD_H
#define NNF_ELEMENTWISE_QUICK_SIMD_H

#include "elementwise/elementwise.h"
#include "nnf/unroll.h"

/* An operand of ADD whose multiplier m splits into 16-bit halves, m = high 2^16 + low. Raised by 20 bits it is
 *   (x 2^20 m + 2^30) >> 31 = (x high << 5) + ((x low + 2^10) >> 11), exactly, as x high 2^16 is a multiple of 2^11
 * and the operand of the larger scale just x << 19 (m = 2^30, no shift). */
typedef struct operand {
    C high, low, half;
    int shift;
    bool is_plain;
} operand;

/* Whether the halves fit; fills in the operand. */
static bool split(int32_t multiplier, int32_t shift, operand *o)
{
    const int32_t low = (int16_t)(multiplier & 0xFFFF), high = (int32_t)(((int64_t)multiplier - low) / 65536);
    *o = (operand){.high = codes_all(high & 0xFFFF), .low = codes_all(low & 0xFFFF),
                   .half = codes_all(shift ? 1 << (shift - 1) : 0), .shift = shift,
                   .is_plain = multiplier == 1 << 30 && shift == 0};
    return high >= -32768 && high <= 32767 && shift <= 28;
}

INLINE C raised(const operand *o, C x)
{
    if (o->is_plain)
        return codes_raise(x, NNF_ADD_SHIFT - 1);
    const C low = codes_add(codes_mul_short(x, o->low), codes_all(1 << 10));
    const C v = codes_add(codes_raise(codes_mul_short(x, o->high), 5), codes_lower(low, 11));
    if (!o->shift)
        return v;
    return codes_lower(codes_add(codes_add(v, o->half), codes_lower(v, 31)), o->shift);
}

/* As many whole vectors of bytes as there are; returns how many codes that is, 0 where the constants are others. The
 * result's roundings, zero point and shift are one sum:
 *   code = (2 v m + 2^31 + (2^(shift - 1) - (v < 0)) 2^32 + zero_y 2^(32 + shift)) >> (32 + shift), |v| < 2^29 */
INLINE size_t quick_codes(enum op op, const bool is_signed, size_t n, const uint8_t *a, size_t step_a,
                          const uint8_t *b, size_t step_b, uint8_t *y, const nnf_binary_q8 *p)
{
    operand of_a, of_b;
    if (n < BYTES || p->multiplier_y < 0 || p->shift_y < 1 || p->shift_y > 20 ||
        (op == OP_ADD && !(split(p->multiplier_a, p->shift_a, &of_a) && split(p->multiplier_b, p->shift_b, &of_b))))
        return 0;
    const nnf_binary_q8 q = *p; /* which no store of codes can change */
    const int64_t high = (INT64_C(1) << (q.shift_y - 1)) + q.zero_y * (INT64_C(1) << q.shift_y);
    const int64_t terms = high * (INT64_C(1) << 32) + (INT64_C(1) << 31);
    const B lo = u8_all((uint8_t)q.lo), hi = u8_all((uint8_t)q.hi);
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES) {
        C code[BYTES / CODES];
        NNF_UNROLL
        for (int k = 0; k < BYTES / CODES; k++) {
            const size_t at = i + CODES * (size_t)k;
            const C left = operand_codes(is_signed, a, at, step_a, CODES, q.zero_a);
            const C right = operand_codes(is_signed, b, at, step_b, CODES, q.zero_b);
            const C value = op == OP_ADD ? codes_add(raised(&of_a, left), raised(&of_b, right))
                                         : codes_mul(left, right);
            code[k] = codes_scale_terms(value, q.multiplier_y, terms, q.shift_y);
        }
        const B bytes = codes_pack(is_signed, code);
        u8_store_whole(y + i, is_signed ? u8_min_signed(u8_max_signed(bytes, lo), hi)
                                        : u8_min(u8_max(bytes, lo), hi));
    }
    return i;
}

static void exact_add_qu8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                          const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_ADD, false, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_ADD, false, done, n, a, step_a, b, step_b, y, p);
}

static void exact_add_qs8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                          const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_ADD, true, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_ADD, true, done, n, a, step_a, b, step_b, y, p);
}

void KERNEL_CODES(nnf_mul_qu8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y, const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_MUL, false, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_MUL, false, done, n, a, step_a, b, step_b, y, p);
}

void KERNEL_CODES(nnf_mul_qs8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y, const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_MUL, true, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_MUL, true, done, n, a, step_a, b, step_b, y, p);
}

#endif
