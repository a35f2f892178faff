/* ADD of 8-bit codes by sums of products for most of them. Include after nnf/simd/u8_<isa>.h, KERNEL_ADD, and
 *   T                                         factors in vectors
 *   T factors_of(const nnf_add_plan *)
 *   B sums(const T *, signed?, a, b, *close)  codes of unsigned bytes a and b, saturated; close: set where one is not sure
 *   exact_add_qu8, exact_add_qs8              kernels of the exact arithmetic
 *
 * In real numbers the code is floor(z), z = A (a - zero_a) + B (b - zero_b) + zero_y + 1/2, and the standard's roundings
 * move z by less than 3 * 2^-shift_y. Here z is an integer with FRACTION binary digits behind the point: where it lies
 * further from a whole number than both errors together, floor(z) is the code. The few vectors with another lane in them
 * go through the exact arithmetic. */
#ifndef NNF_ELEMENTWISE_ADD_SIMD_H
#define NNF_ELEMENTWISE_ADD_SIMD_H

#include "elementwise/elementwise_add.h"
#include "nnf/unroll.h"

INLINE void add_codes(const bool is_signed, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                      uint8_t *y, const nnf_binary_q8 *c, nnf_binary_q8_flat_fn exact)
{
    nnf_add_plan plan;
    size_t i = 0, unsure = 0;
    if (n >= 2 * BYTES && step_a && step_b && nnf_plan_add(is_signed, c, &plan)) {
        const T factors = factors_of(&plan);
        const B flip = u8_all(is_signed ? 128 : 0), lo = u8_all((uint8_t)c->lo), hi = u8_all((uint8_t)c->hi);
        /* Operands whose sums are often whole numbers, as of equal scales, are for the exact kernel. */
        for (; i + BYTES <= n && unsure * BYTES * 8 <= i + 8 * BYTES; i += BYTES) {
            int close = 0;
            const B code = sums(&factors, is_signed, u8_xor(u8_load_whole(a + i), flip),
                                u8_xor(u8_load_whole(b + i), flip), &close);
            if (close) {
                exact(BYTES, a + i, 1, b + i, 1, y + i, c);
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

void KERNEL_ADD(nnf_add_qu8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                  uint8_t *y, const nnf_binary_q8 *p)
{
    add_codes(false, n, a, step_a, b, step_b, y, p, exact_add_qu8);
}

void KERNEL_ADD(nnf_add_qs8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                  uint8_t *y, const nnf_binary_q8 *p)
{
    add_codes(true, n, a, step_a, b, step_b, y, p, exact_add_qs8);
}

#endif
