#include "quantize.h"

#include "nnf/simd/codes_f64_avx2.h"
#include "nnf/simd/s32_avx2.h"

#include "quantize/quantize_simd.h"

void nnf_quantize_f32_qu8_flat__avx2_8(size_t n, const float *x, uint8_t *y, float scale, int32_t zero_point, int32_t lo,
                                      int32_t hi)
{
    quantize(n, x, y, scale, zero_point, lo, hi);
}

void nnf_dequantize_qu8_f32_flat__avx2_8(size_t n, const uint8_t *x, float *y, int32_t zero_point, const float *scale,
                                        size_t step)
{
    dequantize(false, n, x, y, zero_point, scale, step);
}

void nnf_dequantize_qs8_f32_flat__avx2_8(size_t n, const uint8_t *x, float *y, int32_t zero_point, const float *scale,
                                        size_t step)
{
    dequantize(true, n, x, y, zero_point, scale, step);
}

void nnf_requantize_s32_qu8_rows__avx2_8(size_t rows, size_t columns, const int32_t *x, size_t ldx, const double *scale,
                                        const nnf_codes *codes, uint8_t *y, size_t ldy)
{
    requantize(rows, columns, x, ldx, scale, codes, y, ldy);
}

void nnf_dequantize_s32_f32_rows__avx2_8(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                        const nnf_row_codes *row, const nnf_sum_scales *by, float *y, size_t ldy)
{
    dequantize_sums(rows, columns, x, ldx, row, by, y, ldy);
}
