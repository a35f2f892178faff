#include "quantize.h"
#include "quantize_row.h"

#include "nnf/simd/codes_f64_avx512.h"
#include "nnf/simd/s32_avx512.h"

#include "quantize/quantize_simd.h"

void nnf_quantize_f32_qu8_flat__avx512_16(size_t n, const float *x, uint8_t *y, float scale, int32_t zero_point, int32_t lo,
                                      int32_t hi)
{
    quantize(n, x, y, scale, zero_point, lo, hi);
}

void nnf_dequantize_qu8_f32_flat__avx512_16(size_t n, const uint8_t *x, float *y, int32_t zero_point, const float *scale,
                                        size_t step)
{
    dequantize(false, n, x, y, zero_point, scale, step);
}

void nnf_dequantize_qs8_f32_flat__avx512_16(size_t n, const uint8_t *x, float *y, int32_t zero_point, const float *scale,
                                        size_t step)
{
    dequantize(true, n, x, y, zero_point, scale, step);
}

void nnf_requantize_s32_qu8_rows__avx512_16(size_t rows, size_t columns, const int32_t *x, size_t ldx, const double *scale,
                                        const nnf_codes *codes, uint8_t *y, size_t ldy)
{
    requantize(rows, columns, x, ldx, scale, codes, y, ldy);
}

void nnf_dequantize_s32_f32_rows__avx512_16(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                        const nnf_row_codes *row, const nnf_sum_scales *by, float *y, size_t ldy)
{
    dequantize_sums(rows, columns, x, ldx, row, by, y, ldy);
}

static inline __mmask16 row_lanes(size_t left)
{
    return left < 16 ? (__mmask16)((1U << left) - 1) : 0xFFFF;
}

void nnf_quantize_row_f32_qu8_flat__avx512_16(size_t n, const float *x, uint8_t *y, int is_asymmetric,
                                              nnf_row_codes *row)
{
    __m512 low = _mm512_setzero_ps(), high = low;
    for (size_t i = 0; i < n; i += 16) {
        const __m512 values = _mm512_maskz_loadu_ps(row_lanes(n - i), x + i);
        low = _mm512_min_ps(values, low); /* which stays where a value is a NaN */
        high = _mm512_max_ps(values, high);
    }
    const nnf_row_scale scale = nnf_row_scale_of(_mm512_reduce_min_ps(low), _mm512_reduce_max_ps(high), is_asymmetric,
                                                 row);
    const __m512 factor = _mm512_set1_ps(scale.factor), far = _mm512_set1_ps(NNF_ROW_FAR);
    const __m512i zero = _mm512_set1_epi32(scale.zero), least = _mm512_set1_epi32(scale.lo);
    const __m128i flip = _mm_set1_epi8((char)0x80);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = row_lanes(n - i);
        const __m512 product = _mm512_mul_ps(_mm512_maskz_loadu_ps(live, x + i), factor);
        const __m512 steps = _mm512_min_ps(_mm512_max_ps(product, _mm512_set1_ps(-NNF_ROW_FAR)), far);
        const __m512i whole = _mm512_cvttps_epi32(steps);
        const __m512 rest = _mm512_sub_ps(steps, _mm512_cvtepi32_ps(whole));
        /* Twice the rest, cut off, is 1 or -1 from a half on. */
        const __m512i rounded = _mm512_add_epi32(whole, _mm512_cvttps_epi32(_mm512_add_ps(rest, rest)));
        const __m512i codes = _mm512_max_epi32(_mm512_add_epi32(rounded, zero), least);
        _mm_mask_storeu_epi8(y + i, live, _mm_xor_si128(_mm512_cvtsepi32_epi8(codes), flip));
    }
}
