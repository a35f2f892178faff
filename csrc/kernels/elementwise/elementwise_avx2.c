#include "elementwise.h"

#include "nnf/simd/codes_avx2.h"
#include "nnf/simd/u8_avx2.h"

#include "elementwise/elementwise_f32_simd.h"
#include "elementwise/elementwise_q8_simd.h"
#include "elementwise/elementwise_quick_simd.h"

void nnf_add_f32_flat__avx2_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_ADD, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_sub_f32_flat__avx2_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_SUB, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_mul_f32_flat__avx2_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MUL, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_div_f32_flat__avx2_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_DIV, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_max_f32_flat__avx2_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MAX, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_min_f32_flat__avx2_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MIN, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_prelu_f32_flat__avx2_8(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                float lo, float hi)
{
    binary(OP_PRELU, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_add_qu8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_ADD, false, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_ADD, false, done, n, a, step_a, b, step_b, y, p);
}

void nnf_add_qs8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_ADD, true, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_ADD, true, done, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qu8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_MUL, false, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_MUL, false, done, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qs8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    const size_t done = quick_codes(OP_MUL, true, n, a, step_a, b, step_b, y, p);
    binary_codes(OP_MUL, true, done, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qu8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    binary_codes(OP_PRELU, false, 0, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qs8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    binary_codes(OP_PRELU, true, 0, n, a, step_a, b, step_b, y, p);
}
