#include "quantize.h"

#include <immintrin.h>

static inline __mmask16 first(size_t count)
{
    return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1);
}

void nnf_quantize_f32_qu8_flat__avx512_16(size_t n, const float *x, uint8_t *y, float scale, int32_t zero, int32_t lo,
                                          int32_t hi)
{
    const __m512 far = _mm512_set1_ps(NNF_QUANTIZE_FAR), low = _mm512_set1_ps(-NNF_QUANTIZE_FAR);
    const __m512 unit = _mm512_set1_ps(scale);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        /* min returns its second operand when the first is NaN. */
        const __m512 near = _mm512_min_ps(_mm512_div_ps(_mm512_maskz_loadu_ps(live, x + i), unit), far);
        const __m512 steps = _mm512_max_ps(near, low);
        const __m512 whole = _mm512_roundscale_ps(steps, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        const __m512 rest = _mm512_sub_ps(steps, whole);
        const __mmask16 up = _mm512_cmp_ps_mask(rest, _mm512_set1_ps(0.5f), _CMP_GE_OQ);
        const __mmask16 down = _mm512_cmp_ps_mask(rest, _mm512_set1_ps(-0.5f), _CMP_LE_OQ);
        __m512i code = _mm512_add_epi32(_mm512_cvtps_epi32(whole), _mm512_set1_epi32(zero));
        code = _mm512_mask_add_epi32(code, up, code, _mm512_set1_epi32(1));
        code = _mm512_mask_sub_epi32(code, down, code, _mm512_set1_epi32(1));
        code = _mm512_min_epi32(_mm512_max_epi32(code, _mm512_set1_epi32(lo)), _mm512_set1_epi32(hi));
        _mm_mask_storeu_epi8(y + i, live, _mm512_cvtepi32_epi8(code));
    }
}

static inline __attribute__((always_inline)) void dequantize(int is_signed, size_t n, const uint8_t *x, float *y,
                                                             int32_t zero, const float *scale, size_t step)
{
    if (n == 0)
        return;
    const __m512 same = _mm512_set1_ps(*scale);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m128i bytes = _mm_maskz_loadu_epi8(live, x + i);
        const __m512i code = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        const __m512 centred = _mm512_cvtepi32_ps(_mm512_sub_epi32(code, _mm512_set1_epi32(zero)));
        const __m512 factor = step ? _mm512_maskz_loadu_ps(live, scale + i) : same;
        _mm512_mask_storeu_ps(y + i, live, _mm512_mul_ps(centred, factor));
    }
}

void nnf_dequantize_qu8_f32_flat__avx512_16(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                            size_t step)
{
    dequantize(0, n, x, y, zero, scale, step);
}

void nnf_dequantize_qs8_f32_flat__avx512_16(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                            size_t step)
{
    dequantize(1, n, x, y, zero, scale, step);
}
