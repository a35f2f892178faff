#include "elementwise.h"

#include <immintrin.h>
#include <string.h>

#include "nnf/requantize_avx2.h"
#include "nnf/simd/f32_avx2.h"

/* a where either is NaN */
static inline V first_or_larger(V a, V b) { return _mm256_max_ps(b, a); }
static inline V first_or_smaller(V a, V b) { return _mm256_min_ps(b, a); }

static inline V sloped(V a, V b)
{
    return _mm256_blendv_ps(_mm256_mul_ps(a, b), a, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_GE_OQ));
}

#include "elementwise/elementwise_f32_simd.h"

/* Eight codes less the zero point; `count` of them exist, a repeated operand gives its first one. */
INLINE __m256i load_codes(int is_signed, const uint8_t *x, size_t i, size_t step,
                                                          size_t count, __m256i zero)
{
    uint64_t raw = 0;
    if (!step)
        raw = *x * UINT64_C(0x0101010101010101);
    else if (count >= 8)
        memcpy(&raw, x + i, 8);
    else
        memcpy(&raw, x + i, count);
    const __m128i bytes = _mm_cvtsi64_si128((long long)raw);
    return _mm256_sub_epi32(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes), zero);
}

INLINE __m256i scale(__m256i value, const nnf_binary_q8 *p)
{
    return nnf_mbqm_avx2(value, _mm256_set1_epi32(p->multiplier_y), _mm256_setzero_si256(),
                         _mm256_set1_epi32(p->shift_y));
}

/* Clamped before the zero point is added: a multiplier above 1 reaches the ends of 32 bits. */
INLINE void store_codes(uint8_t *y, size_t count, __m256i value, const nnf_binary_q8 *p)
{
    value = _mm256_max_epi32(value, _mm256_set1_epi32(p->lo - p->zero_y));
    value = _mm256_min_epi32(value, _mm256_set1_epi32(p->hi - p->zero_y));
    value = _mm256_add_epi32(value, _mm256_set1_epi32(p->zero_y));
    /* The low byte of each lane, gathered into the low half of both 128-bit lanes. */
    const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    value = _mm256_shuffle_epi8(value, pick);
    const __m128i bytes = _mm_or_si128(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    const uint64_t raw = (uint64_t)_mm_cvtsi128_si64(bytes);
    if (count >= 8)
        memcpy(y, &raw, 8);
    else
        memcpy(y, &raw, count);
}

INLINE void add_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                         const uint8_t *b, size_t step_b, uint8_t *y,
                                                         const nnf_binary_q8 *p)
{
    const __m256i zero_a = _mm256_set1_epi32(p->zero_a), zero_b = _mm256_set1_epi32(p->zero_b);
    const __m256i multiplier_a = _mm256_set1_epi32(p->multiplier_a), multiplier_b = _mm256_set1_epi32(p->multiplier_b);
    const __m256i shift_a = _mm256_set1_epi32(p->shift_a), shift_b = _mm256_set1_epi32(p->shift_b);
    const __m256i raise = _mm256_set1_epi32(NNF_ADD_SHIFT);
    for (size_t i = 0; i < n; i += 8) {
        const __m256i scaled_a = nnf_mbqm_avx2(load_codes(is_signed, a, i, step_a, n - i, zero_a), multiplier_a, raise,
                                               shift_a);
        const __m256i scaled_b = nnf_mbqm_avx2(load_codes(is_signed, b, i, step_b, n - i, zero_b), multiplier_b, raise,
                                               shift_b);
        store_codes(y + i, n - i, scale(_mm256_add_epi32(scaled_a, scaled_b), p), p);
    }
}

INLINE void mul_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                         const uint8_t *b, size_t step_b, uint8_t *y,
                                                         const nnf_binary_q8 *p)
{
    const __m256i zero_a = _mm256_set1_epi32(p->zero_a), zero_b = _mm256_set1_epi32(p->zero_b);
    for (size_t i = 0; i < n; i += 8) {
        const __m256i product = _mm256_mullo_epi32(load_codes(is_signed, a, i, step_a, n - i, zero_a),
                                                   load_codes(is_signed, b, i, step_b, n - i, zero_b));
        store_codes(y + i, n - i, scale(product, p), p);
    }
}

INLINE void prelu_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                           const uint8_t *b, size_t step_b, uint8_t *y,
                                                           const nnf_binary_q8 *p)
{
    const __m256i zero_a = _mm256_set1_epi32(p->zero_a), zero_b = _mm256_set1_epi32(p->zero_b);
    const __m256i multipliers[2] = {_mm256_set1_epi32(p->multiplier_a), _mm256_set1_epi32(p->multiplier_y)};
    const __m256i lefts[2] = {_mm256_set1_epi32(p->left_a), _mm256_set1_epi32(p->left_y)};
    const __m256i rights[2] = {_mm256_set1_epi32(p->shift_a), _mm256_set1_epi32(p->shift_y)};
    for (size_t i = 0; i < n; i += 8) {
        const __m256i value = load_codes(is_signed, a, i, step_a, n - i, zero_a);
        const __m256i product = _mm256_mullo_epi32(value, load_codes(is_signed, b, i, step_b, n - i, zero_b));
        const __m256i below = _mm256_srai_epi32(value, 31);
        store_codes(y + i, n - i,
              nnf_mbqm_avx2(_mm256_blendv_epi8(value, product, below),
                            _mm256_blendv_epi8(multipliers[0], multipliers[1], below),
                            _mm256_blendv_epi8(lefts[0], lefts[1], below),
                            _mm256_blendv_epi8(rights[0], rights[1], below)), p);
    }
}

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
    add_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_add_qs8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    add_q8(1, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qu8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    mul_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qs8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                              const nnf_binary_q8 *p)
{
    mul_q8(1, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qu8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    prelu_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qs8_flat__avx2_8(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                const nnf_binary_q8 *p)
{
    prelu_q8(1, n, a, step_a, b, step_b, y, p);
}
