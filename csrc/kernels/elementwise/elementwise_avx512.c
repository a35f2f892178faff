#include "elementwise.h"

#include <immintrin.h>

#include "nnf/requantize_avx512.h"

enum op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN, OP_PRELU };

static inline __attribute__((always_inline)) __m512 apply(enum op op, __m512 a, __m512 b)
{
    switch (op) {
    case OP_ADD:
        return _mm512_add_ps(a, b);
    case OP_SUB:
        return _mm512_sub_ps(a, b);
    case OP_MUL:
        return _mm512_mul_ps(a, b);
    case OP_DIV:
        return _mm512_div_ps(a, b);
    case OP_MAX: /* the second operand stays when either is NaN */
        return _mm512_max_ps(b, a);
    case OP_MIN:
        return _mm512_min_ps(b, a);
    default:
        return _mm512_mask_mov_ps(_mm512_mul_ps(a, b), _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_GE_OQ), a);
    }
}

static inline __mmask16 first(size_t count)
{
    return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1);
}

static inline __attribute__((always_inline)) void binary(enum op op, size_t n, const float *a, size_t step_a,
                                                         const float *b, size_t step_b, float *y, float lo, float hi)
{
    if (n == 0)
        return;
    /* min/max return the second operand when either is NaN: the value comes second, so that a NaN stays one. */
    const __m512 low = _mm512_set1_ps(lo), high = _mm512_set1_ps(hi);
    const __m512 first_a = _mm512_set1_ps(*a), first_b = _mm512_set1_ps(*b);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m512 value = apply(op, step_a ? _mm512_maskz_loadu_ps(live, a + i) : first_a,
                                   step_b ? _mm512_maskz_loadu_ps(live, b + i) : first_b);
        _mm512_mask_storeu_ps(y + i, live, _mm512_min_ps(high, _mm512_max_ps(low, value)));
    }
}

/* Sixteen codes less the zero point; a repeated operand gives its first one. */
static inline __attribute__((always_inline)) __m512i load(int is_signed, const uint8_t *x, size_t i, size_t step,
                                                          __mmask16 live, __m512i zero)
{
    const __m128i bytes = step ? _mm_maskz_loadu_epi8(live, x + i) : _mm_set1_epi8((char)*x);
    return _mm512_sub_epi32(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes), zero);
}

static inline __attribute__((always_inline)) __m512i scale(__m512i value, const nnf_binary_q8 *p)
{
    return nnf_mbqm_avx512(value, _mm512_set1_epi32(p->multiplier_y), _mm512_setzero_si512(),
                           _mm512_set1_epi32(p->shift_y));
}

/* Clamped before the zero point is added: a multiplier above 1 reaches the ends of 32 bits. */
static inline __attribute__((always_inline)) void store(uint8_t *y, __mmask16 live, __m512i value,
                                                        const nnf_binary_q8 *p)
{
    value = _mm512_max_epi32(value, _mm512_set1_epi32(p->lo - p->zero_y));
    value = _mm512_min_epi32(value, _mm512_set1_epi32(p->hi - p->zero_y));
    value = _mm512_add_epi32(value, _mm512_set1_epi32(p->zero_y));
    _mm_mask_storeu_epi8(y, live, _mm512_cvtepi32_epi8(value));
}

static inline __attribute__((always_inline)) void add_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                         const uint8_t *b, size_t step_b, uint8_t *y,
                                                         const nnf_binary_q8 *p)
{
    const __m512i zero_a = _mm512_set1_epi32(p->zero_a), zero_b = _mm512_set1_epi32(p->zero_b);
    const __m512i multiplier_a = _mm512_set1_epi32(p->multiplier_a), multiplier_b = _mm512_set1_epi32(p->multiplier_b);
    const __m512i shift_a = _mm512_set1_epi32(p->shift_a), shift_b = _mm512_set1_epi32(p->shift_b);
    const __m512i raise = _mm512_set1_epi32(NNF_ADD_SHIFT);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m512i scaled_a = nnf_mbqm_avx512(load(is_signed, a, i, step_a, live, zero_a), multiplier_a, raise,
                                                 shift_a);
        const __m512i scaled_b = nnf_mbqm_avx512(load(is_signed, b, i, step_b, live, zero_b), multiplier_b, raise,
                                                 shift_b);
        store(y + i, live, scale(_mm512_add_epi32(scaled_a, scaled_b), p), p);
    }
}

static inline __attribute__((always_inline)) void mul_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                         const uint8_t *b, size_t step_b, uint8_t *y,
                                                         const nnf_binary_q8 *p)
{
    const __m512i zero_a = _mm512_set1_epi32(p->zero_a), zero_b = _mm512_set1_epi32(p->zero_b);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m512i product = _mm512_mullo_epi32(load(is_signed, a, i, step_a, live, zero_a),
                                                   load(is_signed, b, i, step_b, live, zero_b));
        store(y + i, live, scale(product, p), p);
    }
}

static inline __attribute__((always_inline)) void prelu_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                           const uint8_t *b, size_t step_b, uint8_t *y,
                                                           const nnf_binary_q8 *p)
{
    const __m512i zero_a = _mm512_set1_epi32(p->zero_a), zero_b = _mm512_set1_epi32(p->zero_b);
    const __m512i multipliers[2] = {_mm512_set1_epi32(p->multiplier_a), _mm512_set1_epi32(p->multiplier_y)};
    const __m512i lefts[2] = {_mm512_set1_epi32(p->left_a), _mm512_set1_epi32(p->left_y)};
    const __m512i rights[2] = {_mm512_set1_epi32(p->shift_a), _mm512_set1_epi32(p->shift_y)};
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m512i value = load(is_signed, a, i, step_a, live, zero_a);
        const __mmask16 below = _mm512_movepi32_mask(value);
        const __m512i slope = load(is_signed, b, i, step_b, live, zero_b);
        store(y + i, live,
              nnf_mbqm_avx512(_mm512_mask_mullo_epi32(value, below, value, slope),
                              _mm512_mask_mov_epi32(multipliers[0], below, multipliers[1]),
                              _mm512_mask_mov_epi32(lefts[0], below, lefts[1]),
                              _mm512_mask_mov_epi32(rights[0], below, rights[1])), p);
    }
}

void nnf_add_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_ADD, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_sub_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_SUB, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_mul_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_MUL, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_div_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_DIV, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_max_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_MAX, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_min_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_MIN, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_prelu_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                   float lo, float hi)
{
    binary(OP_PRELU, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_add_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    add_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_add_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    add_q8(1, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    mul_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    mul_q8(1, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                   uint8_t *y, const nnf_binary_q8 *p)
{
    prelu_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                   uint8_t *y, const nnf_binary_q8 *p)
{
    prelu_q8(1, n, a, step_a, b, step_b, y, p);
}
