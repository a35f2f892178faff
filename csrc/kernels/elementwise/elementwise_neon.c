#include "elementwise.h"

#include "nnf/simd/codes_neon.h"

#define KERNEL(op) op##__neon_4
#define KERNEL_CODES(op) op##__neon_8

#include "elementwise/elementwise_f32_simd.h"
#include "elementwise/elementwise_q8_simd.h"

void nnf_add_qu8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    binary_codes(OP_ADD, false, 0, n, a, step_a, b, step_b, y, p);
}

void nnf_add_qs8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    binary_codes(OP_ADD, true, 0, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qu8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    binary_codes(OP_MUL, false, 0, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qs8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    binary_codes(OP_MUL, true, 0, n, a, step_a, b, step_b, y, p);
}
