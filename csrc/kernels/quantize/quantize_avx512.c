#include "quantize.h"
#include "quantize_row.h"

#include "nnf/simd/codes_f64_avx512.h"
#include "nnf/simd/s32_avx512.h"

#define KERNEL(op) op##__avx512_16
#define KERNEL_FLOATS(op) op##__avx512_16

#include "quantize/quantize_simd.h"

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
