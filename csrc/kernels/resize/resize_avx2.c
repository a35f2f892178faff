#include "resize.h"

#include <immintrin.h>
#include <string.h>

static inline __m256i first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The four neighbours in the order of the reference; no fused multiply-add, which would round less often. */
static inline __attribute__((always_inline)) __m256 blend(const __m256 x[4], __m256 down, __m256 across)
{
    const __m256 one = _mm256_set1_ps(1.0f), up = _mm256_sub_ps(one, down), back = _mm256_sub_ps(one, across);
    __m256 value = _mm256_mul_ps(_mm256_mul_ps(x[0], up), back);
    value = _mm256_add_ps(value, _mm256_mul_ps(_mm256_mul_ps(x[1], down), back));
    value = _mm256_add_ps(value, _mm256_mul_ps(_mm256_mul_ps(x[2], up), across));
    return _mm256_add_ps(value, _mm256_mul_ps(_mm256_mul_ps(x[3], down), across));
}

/* Eight values one after another, of which the first `live` exist. */
static inline __m256 load_f32(const float *x, size_t live)
{
    return live >= 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, first(live));
}

void nnf_resize_bilinear_f32_nhwc__avx2_8(const nnf_resize *p, const float *top, const float *bottom, float down,
                                          float *y)
{
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const size_t left = p->left[i] * p->channels, right = p->right[i] * p->channels;
        for (size_t c = 0; c < p->channels; c += 8) {
            const size_t live = p->channels - c;
            const __m256 x[4] = {load_f32(top + left + c, live), load_f32(bottom + left + c, live),
                                 load_f32(top + right + c, live), load_f32(bottom + right + c, live)};
            const __m256 value = blend(x, _mm256_set1_ps(down), _mm256_set1_ps(p->across[i]));
            if (live >= 8)
                _mm256_storeu_ps(y + c, value);
            else
                _mm256_maskstore_ps(y + c, first(live), value);
        }
    }
}

static inline __attribute__((always_inline)) __m256 load_q8(int is_signed, const uint8_t *x, size_t live)
{
    uint64_t raw = 0;
    memcpy(&raw, x, live >= 8 ? 8 : live);
    const __m128i bytes = _mm_cvtsi64_si128((long long)raw);
    return _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
}

static inline __attribute__((always_inline)) void resize_q8(int is_signed, const nnf_resize *p, const uint8_t *top,
                                                            const uint8_t *bottom, float down, uint8_t *y)
{
    const __m256 half = _mm256_set1_ps(0.5f), sign = _mm256_set1_ps(p->is_away ? -0.0f : 0.0f);
    /* The low byte of each lane, gathered into the low half of both 128-bit lanes. */
    const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const size_t left = p->left[i] * p->channels, right = p->right[i] * p->channels;
        for (size_t c = 0; c < p->channels; c += 8) {
            const size_t live = p->channels - c < 8 ? p->channels - c : 8;
            const __m256 x[4] = {load_q8(is_signed, top + left + c, live), load_q8(is_signed, bottom + left + c, live),
                                 load_q8(is_signed, top + right + c, live),
                                 load_q8(is_signed, bottom + right + c, live)};
            const __m256 value = blend(x, _mm256_set1_ps(down), _mm256_set1_ps(p->across[i]));
            const __m256i code = _mm256_shuffle_epi8(
                _mm256_cvttps_epi32(_mm256_add_ps(value, _mm256_or_ps(half, _mm256_and_ps(value, sign)))), pick);
            const __m128i bytes = _mm_or_si128(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
            const uint64_t raw = (uint64_t)_mm_cvtsi128_si64(bytes);
            memcpy(y + c, &raw, live);
        }
    }
}

void nnf_resize_bilinear_qu8_nhwc__avx2_8(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, uint8_t *y)
{
    resize_q8(0, p, top, bottom, down, y);
}

void nnf_resize_bilinear_qs8_nhwc__avx2_8(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, uint8_t *y)
{
    resize_q8(1, p, top, bottom, down, y);
}
