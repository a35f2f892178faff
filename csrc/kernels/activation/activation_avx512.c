#include "activation.h"

#include <immintrin.h>

#include "nnf/math_avx512.h"

enum op { OP_LOGISTIC, OP_TANH, OP_HARD_SWISH, OP_ABS, OP_NEG, OP_FLOOR, OP_SQRT, OP_RSQRT, OP_EXP };

static inline __attribute__((always_inline)) __m512 apply(enum op op, __m512 x)
{
    if (op == OP_LOGISTIC)
        return nnf_logistic_avx512(x);
    if (op == OP_TANH)
        return nnf_tanh_avx512(x);
    if (op == OP_ABS)
        return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x);
    if (op == OP_NEG)
        return _mm512_xor_ps(_mm512_set1_ps(-0.0f), x);
    if (op == OP_FLOOR)
        return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    if (op == OP_SQRT)
        return _mm512_sqrt_ps(x);
    if (op == OP_RSQRT)
        return _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_sqrt_ps(x));
    if (op == OP_EXP) /* e^89 is infinite; min returns its second operand when that is NaN */
        return nnf_exp_neg_avx512(_mm512_min_ps(_mm512_set1_ps(89.0f), x));
    /* min/max return the second operand when either is NaN. */
    const __m512 six = _mm512_set1_ps(6.0f), gate = _mm512_add_ps(x, _mm512_set1_ps(3.0f));
    return _mm512_mul_ps(x, _mm512_div_ps(_mm512_min_ps(six, _mm512_max_ps(_mm512_setzero_ps(), gate)), six));
}

static inline __attribute__((always_inline)) void unary(enum op op, size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = n - i >= 16 ? 0xFFFF : (__mmask16)((1u << (n - i)) - 1);
        _mm512_mask_storeu_ps(y + i, live, apply(op, _mm512_maskz_loadu_ps(live, x + i)));
    }
}

void nnf_logistic_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_LOGISTIC, n, x, y);
}

void nnf_tanh_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_TANH, n, x, y);
}

void nnf_hard_swish_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_HARD_SWISH, n, x, y);
}

void nnf_abs_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_ABS, n, x, y);
}

void nnf_neg_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_NEG, n, x, y);
}

void nnf_floor_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_FLOOR, n, x, y);
}

void nnf_sqrt_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_SQRT, n, x, y);
}

void nnf_rsqrt_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_RSQRT, n, x, y);
}

void nnf_exp_f32_flat__avx512_16(size_t n, const float *x, float *y)
{
    unary(OP_EXP, n, x, y);
}

void nnf_clamp_f32_flat__avx512_16(size_t n, const float *x, float *y, float lo, float hi)
{
    const __m512 low = _mm512_set1_ps(lo), high = _mm512_set1_ps(hi);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = n - i >= 16 ? 0xFFFF : (__mmask16)((1u << (n - i)) - 1);
        const __m512 value = _mm512_maskz_loadu_ps(live, x + i);
        _mm512_mask_storeu_ps(y + i, live, _mm512_min_ps(high, _mm512_max_ps(low, value)));
    }
}

void nnf_lookup_qu8_flat__avx512_64(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    /* One shuffle for each row of 16 bytes of the table, kept where the high half of the code names the row. */
    __m512i rows[16];
    for (int r = 0; r < 16; r++)
        rows[r] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(table + 16 * r)));
    const __m512i nibble = _mm512_set1_epi8(15);
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 live = n - i >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n - i)) - 1;
        const __m512i codes = _mm512_maskz_loadu_epi8(live, x + i);
        const __m512i low = _mm512_and_si512(codes, nibble);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(codes, 4), nibble);
        __m512i value = _mm512_shuffle_epi8(rows[0], low);
        for (int r = 1; r < 16; r++)
            value = _mm512_mask_shuffle_epi8(value, _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8((char)r)), rows[r],
                                             low);
        _mm512_mask_storeu_epi8(y + i, live, value);
    }
}
