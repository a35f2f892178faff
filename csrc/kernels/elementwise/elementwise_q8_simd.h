/* ADD, MUL and PRELU of 8-bit codes in vectors. Include after nnf/simd/codes_<isa>.h, elementwise_f32_simd.h
 * and KERNEL_CODES. */
#ifndef NNF_ELEMENTWISE_Q8_SIMD_H
#define NNF_ELEMENTWISE_Q8_SIMD_H

#include "elementwise/elementwise.h"

/* CODES codes less the zero point, or the `count` that are left; a repeated operand gives its first one. */
INLINE C operand_codes(const bool is_signed, const uint8_t *x, size_t i, size_t step, size_t count, int32_t zero_point)
{
    if (!step)
        return codes_all((is_signed ? (int8_t)*x : *x) - zero_point);
    return count == CODES ? codes_load_whole(x + i, is_signed, zero_point)
                          : codes_load(count, x + i, is_signed, zero_point);
}

INLINE C apply_codes(enum op op, C a, C b, const nnf_binary_q8 *p)
{
    if (op == OP_MUL)
        return codes_scale_down(codes_mul(a, b), p->multiplier_y, p->shift_y);
    if (op == OP_PRELU)
        return codes_scale_each(codes_if_below(a, codes_mul(a, b), a),
                                codes_if_below(a, codes_all(p->multiplier_y), codes_all(p->multiplier_a)),
                                codes_if_below(a, codes_all(p->left_y), codes_all(p->left_a)),
                                codes_if_below(a, codes_all(p->shift_y), codes_all(p->shift_a)));
    const C sum = codes_add(codes_scale_down(codes_raise(a, NNF_ADD_SHIFT), p->multiplier_a, p->shift_a),
                            codes_scale_down(codes_raise(b, NNF_ADD_SHIFT), p->multiplier_b, p->shift_b));
    return codes_scale_down(sum, p->multiplier_y, p->shift_y);
}

INLINE void some_codes(enum op op, const bool is_signed, size_t i, size_t count, const uint8_t *a, size_t step_a,
                       const uint8_t *b, size_t step_b, uint8_t *y, const nnf_binary_q8 *p)
{
    const C value = apply_codes(op, operand_codes(is_signed, a, i, step_a, count, p->zero_a),
                                operand_codes(is_signed, b, i, step_b, count, p->zero_b), p);
    /* Clamped before the zero point is added: a multiplier above 1 reaches the ends of 32 bits. */
    const C code = codes_add(codes_between(p->lo - p->zero_y, p->hi - p->zero_y, value), codes_all(p->zero_y));
    if (count == CODES)
        codes_store_whole(y + i, code);
    else
        codes_store(y + i, count, code);
}

/* Whole vectors from element i on, which operands are one code known; returns where they end. */
INLINE size_t whole_codes(enum op op, const bool is_signed, size_t i, size_t n, const uint8_t *a, const size_t step_a,
                          const uint8_t *b, const size_t step_b, uint8_t *y, const nnf_binary_q8 *p)
{
    for (; i + CODES <= n; i += CODES)
        some_codes(op, is_signed, i, CODES, a, step_a, b, step_b, y, p);
    return i;
}

/* From element i on. */
INLINE void binary_codes(enum op op, const bool is_signed, size_t i, size_t n, const uint8_t *a, size_t step_a,
                         const uint8_t *b, size_t step_b, uint8_t *y, const nnf_binary_q8 *p)
{
    const nnf_binary_q8 q = *p; /* which no store of codes can change */
    if (step_a && step_b)
        i = whole_codes(op, is_signed, i, n, a, 1, b, 1, y, &q);
    else if (step_a)
        i = whole_codes(op, is_signed, i, n, a, 1, b, 0, y, &q);
    else if (step_b)
        i = whole_codes(op, is_signed, i, n, a, 0, b, 1, y, &q);
    else
        i = whole_codes(op, is_signed, i, n, a, 0, b, 0, y, &q);
    if (i < n)
        some_codes(op, is_signed, i, (n - i) % CODES, a, step_a, b, step_b, y, &q);
}

void KERNEL_CODES(nnf_prelu_qu8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                      uint8_t *y, const nnf_binary_q8 *p)
{
    binary_codes(OP_PRELU, false, 0, n, a, step_a, b, step_b, y, p);
}

void KERNEL_CODES(nnf_prelu_qs8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                      uint8_t *y, const nnf_binary_q8 *p)
{
    binary_codes(OP_PRELU, true, 0, n, a, step_a, b, step_b, y, p);
}

#endif
