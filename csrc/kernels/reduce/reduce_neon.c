#include "reduce.h"

#include "nnf/simd/codes_f64_neon.h"
#include "nnf/simd/u8_neon.h"

#include "reduce/reduce_simd.h"

void nnf_reduce_sum_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MIN, p, n, x, y);
}

void nnf_reduce_sum_across_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_across_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MIN, p, n, x, y);
}

void nnf_reduce_mean_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    mean(p, n, x, y);
}

void nnf_reduce_mean_across_qu8_rows__neon_8(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    mean_across(p, n, x, y);
}

void nnf_reduce_max_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MIN, p, n, x, y);
}

void nnf_reduce_max_across_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MIN, p, n, x, y);
}
