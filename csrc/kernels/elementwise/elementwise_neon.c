#include "elementwise.h"

#include "nnf/simd/codes_neon.h"

#include "elementwise/elementwise_f32_simd.h"
#include "elementwise/elementwise_q8_simd.h"

void nnf_add_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_ADD, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_sub_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_SUB, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_mul_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MUL, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_div_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_DIV, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_max_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MAX, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_min_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MIN, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_prelu_f32_flat__neon_4(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                float lo, float hi)
{
    binary(OP_PRELU, n, a, step_a, b, step_b, y, lo, hi);
}

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

void nnf_prelu_qu8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    binary_codes(OP_PRELU, false, 0, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qs8_flat__neon_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    binary_codes(OP_PRELU, true, 0, n, a, step_a, b, step_b, y, p);
}
