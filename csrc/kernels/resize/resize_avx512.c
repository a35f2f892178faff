#include "resize.h"

#include <immintrin.h>

static inline __mmask16 first(size_t count)
{
    return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1);
}

/* The four neighbours in the order of the reference; no fused multiply-add, which would round less often. */
static inline __attribute__((always_inline)) __m512 blend(const __m512 x[4], __m512 down, __m512 across)
{
    const __m512 one = _mm512_set1_ps(1.0f), up = _mm512_sub_ps(one, down), back = _mm512_sub_ps(one, across);
    __m512 value = _mm512_mul_ps(_mm512_mul_ps(x[0], up), back);
    value = _mm512_add_ps(value, _mm512_mul_ps(_mm512_mul_ps(x[1], down), back));
    value = _mm512_add_ps(value, _mm512_mul_ps(_mm512_mul_ps(x[2], up), across));
    return _mm512_add_ps(value, _mm512_mul_ps(_mm512_mul_ps(x[3], down), across));
}

void nnf_resize_bilinear_f32_nhwc__avx512_16(const nnf_resize *p, const float *top, const float *bottom, float down,
                                             float *y)
{
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const size_t left = p->left[i] * p->channels, right = p->right[i] * p->channels;
        for (size_t c = 0; c < p->channels; c += 16) {
            const __mmask16 live = first(p->channels - c);
            const __m512 x[4] = {_mm512_maskz_loadu_ps(live, top + left + c),
                                 _mm512_maskz_loadu_ps(live, bottom + left + c),
                                 _mm512_maskz_loadu_ps(live, top + right + c),
                                 _mm512_maskz_loadu_ps(live, bottom + right + c)};
            _mm512_mask_storeu_ps(y + c, live, blend(x, _mm512_set1_ps(down), _mm512_set1_ps(p->across[i])));
        }
    }
}

static inline __attribute__((always_inline)) __m512 load_q8(int is_signed, const uint8_t *x, __mmask16 live)
{
    const __m128i bytes = _mm_maskz_loadu_epi8(live, x);
    return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
}

static inline __attribute__((always_inline)) void resize_q8(int is_signed, const nnf_resize *p, const uint8_t *top,
                                                            const uint8_t *bottom, float down, uint8_t *y)
{
    const __m512 half = _mm512_set1_ps(0.5f), sign = _mm512_set1_ps(p->is_away ? -0.0f : 0.0f);
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const size_t left = p->left[i] * p->channels, right = p->right[i] * p->channels;
        for (size_t c = 0; c < p->channels; c += 16) {
            const __mmask16 live = first(p->channels - c);
            const __m512 x[4] = {load_q8(is_signed, top + left + c, live), load_q8(is_signed, bottom + left + c, live),
                                 load_q8(is_signed, top + right + c, live),
                                 load_q8(is_signed, bottom + right + c, live)};
            const __m512 value = blend(x, _mm512_set1_ps(down), _mm512_set1_ps(p->across[i]));
            const __m512 rounded = _mm512_add_ps(value, _mm512_or_ps(half, _mm512_and_ps(value, sign)));
            const __m512i code = _mm512_cvttps_epi32(rounded);
            _mm_mask_storeu_epi8(y + c, live, _mm512_cvtepi32_epi8(code));
        }
    }
}

void nnf_resize_bilinear_qu8_nhwc__avx512_16(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                             float down, uint8_t *y)
{
    resize_q8(0, p, top, bottom, down, y);
}

void nnf_resize_bilinear_qs8_nhwc__avx512_16(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                             float down, uint8_t *y)
{
    resize_q8(1, p, top, bottom, down, y);
}
