#include "convert.h"

#include <immintrin.h>
#include <string.h>

void nnf_convert_f16_f32_flat__avx2_8(size_t n, const uint16_t *x, float *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
    if (i < n) {
        uint16_t rest[8] = {0};
        float wide[8];
        memcpy(rest, x + i, 2 * (n - i));
        _mm256_storeu_ps(wide, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)rest)));
        memcpy(y + i, wide, 4 * (n - i));
    }
}

void nnf_convert_f32_f16_flat__avx2_8(size_t n, const float *x, uint16_t *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    if (i < n) {
        float rest[8] = {0};
        uint16_t half[8];
        memcpy(rest, x + i, 4 * (n - i));
        _mm_storeu_si128((__m128i *)half, _mm256_cvtps_ph(_mm256_loadu_ps(rest), _MM_FROUND_TO_NEAREST_INT));
        memcpy(y + i, half, 2 * (n - i));
    }
}
