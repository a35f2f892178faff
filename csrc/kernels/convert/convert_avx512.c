#include "convert.h"

#include <immintrin.h>

static inline __mmask16 first(size_t count)
{
    return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1);
}

void nnf_convert_f16_f32_flat__avx512_16(size_t n, const uint16_t *x, float *y)
{
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        _mm512_mask_storeu_ps(y + i, live, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(live, x + i)));
    }
}

void nnf_convert_f32_f16_flat__avx512_16(size_t n, const float *x, uint16_t *y)
{
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m256i half = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(live, x + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16(y + i, live, half);
    }
}
