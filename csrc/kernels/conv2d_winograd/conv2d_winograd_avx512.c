#include "conv2d_winograd.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/unroll.h"

#define INLINE static inline __attribute__((always_inline))

enum { IN = NNF_WINOGRAD_IN, OUT = NNF_WINOGRAD_OUT, N = 16 };

/* Six vectors `step` apart, transformed in place. */
INLINE void input_line(__m512 *d, const int step)
{
    const __m512 half = _mm512_set1_ps(0.5f), two = _mm512_set1_ps(2), more = _mm512_set1_ps(2.5f);
    const __m512 a = _mm512_set1_ps(NNF_WINOGRAD_A), b = _mm512_set1_ps(NNF_WINOGRAD_B);
    const __m512 d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    const __m512 even_a = _mm512_fnmadd_ps(two, d2, d4), odd_a = _mm512_fnmadd_ps(two, d1, d3);
    const __m512 even_b = _mm512_fnmadd_ps(half, d2, d4), odd_b = _mm512_fnmadd_ps(half, d1, d3);
    d[0] = _mm512_fnmadd_ps(more, d2, _mm512_add_ps(d[0], d4));
    d[step] = _mm512_fmadd_ps(a, odd_a, even_a);
    d[2 * step] = _mm512_fnmadd_ps(a, odd_a, even_a);
    d[3 * step] = _mm512_fmadd_ps(b, odd_b, even_b);
    d[4 * step] = _mm512_fnmadd_ps(b, odd_b, even_b);
    d[5 * step] = _mm512_fnmadd_ps(more, d3, _mm512_add_ps(d1, d[5 * step]));
}

/* Likewise six vectors to four, in the places of the first four. */
INLINE void output_line(__m512 *m, const int step)
{
    const __m512 half = _mm512_set1_ps(0.5f), two = _mm512_set1_ps(2);
    const __m512 a = _mm512_set1_ps(NNF_WINOGRAD_A), b = _mm512_set1_ps(NNF_WINOGRAD_B);
    const __m512 a3 = _mm512_set1_ps(NNF_WINOGRAD_A3), b3 = _mm512_set1_ps(NNF_WINOGRAD_B3);
    const __m512 s = _mm512_add_ps(m[step], m[2 * step]), t = _mm512_sub_ps(m[step], m[2 * step]);
    const __m512 p = _mm512_add_ps(m[3 * step], m[4 * step]), q = _mm512_sub_ps(m[3 * step], m[4 * step]);
    m[0] = _mm512_add_ps(_mm512_add_ps(m[0], s), p);
    m[step] = _mm512_fmadd_ps(a, t, _mm512_mul_ps(b, q));
    m[2 * step] = _mm512_fmadd_ps(half, s, _mm512_mul_ps(two, p));
    m[3 * step] = _mm512_fmadd_ps(a3, t, _mm512_fmadd_ps(b3, q, m[5 * step]));
}

/* 16 channels, or those of the mask. whole: every input is inside. */
INLINE void input_block(const nnf_winograd_patch *p, const float *x, float *v, __mmask16 mask, bool whole)
{
    __m512 d[IN * IN];
    for (size_t j = 0; j < IN; j++) {
NNF_UNROLL
        for (size_t i = 0; i < IN; i++) {
            const bool inside = whole || (i >= p->top && i < p->bottom && j >= p->left && j < p->right);
            d[i * IN + j] = inside ? _mm512_maskz_loadu_ps(mask, x + i * p->row + j * p->pixel) : _mm512_setzero_ps();
        }
        input_line(d + j, IN);
    }
    for (size_t i = 0; i < IN; i++) {
        input_line(d + i * IN, 1);
NNF_UNROLL
        for (size_t j = 0; j < IN; j++)
            _mm512_mask_storeu_ps(v + (i * IN + j) * p->stride, mask, d[i * IN + j]);
    }
}

void nnf_conv2d_winograd_input_f32_nhwc__avx512_16(const nnf_winograd_patch *p, const float *x, float *v)
{
    const bool whole = p->top == 0 && p->left == 0 && p->bottom == IN && p->right == IN;
    for (size_t c = 0; c < p->channels; c += N) {
        const size_t left = p->channels - c;
        const __mmask16 mask = (__mmask16)(left < N ? (1u << left) - 1 : 0xFFFF);
        if (whole)
            input_block(p, x + c, v + c, mask, true);
        else
            input_block(p, x + c, v + c, mask, false);
    }
}

int nnf_conv2d_winograd_output_f32_nhwc__avx512_16(const nnf_winograd_result *p, const float *m, const float *bias,
                                                   float *y)
{
    const __m512 lo = _mm512_set1_ps(p->lo), hi = _mm512_set1_ps(p->hi);
    __mmask16 wrong = 0;
    for (size_t c = 0; c < p->channels; c += N) {
        const size_t left = p->channels - c;
        const __mmask16 mask = (__mmask16)(left < N ? (1u << left) - 1 : 0xFFFF);
        const __m512 offset = _mm512_maskz_loadu_ps(mask, bias + c);
        __m512 d[IN * IN], sum = _mm512_setzero_ps();
        for (size_t j = 0; j < IN; j++) {
NNF_UNROLL
            for (size_t i = 0; i < IN; i++)
                d[i * IN + j] = _mm512_maskz_loadu_ps(mask, m + (i * IN + j) * p->stride + c);
            output_line(d + j, IN);
        }
        for (size_t i = 0; i < OUT; i++) {
            output_line(d + i * IN, 1);
NNF_UNROLL
            for (size_t j = 0; j < OUT; j++) {
                /* x * 0 is 0, or NaN where x is not finite. */
                sum = _mm512_fmadd_ps(d[i * IN + j], _mm512_setzero_ps(), sum);
                /* min/max return the second operand when either is NaN: the sum comes second, so that a NaN stays. */
                const __m512 z = _mm512_min_ps(hi, _mm512_max_ps(lo, _mm512_add_ps(d[i * IN + j], offset)));
                if (i < p->height && j < p->width)
                    _mm512_mask_storeu_ps(y + i * p->row + j * p->pixel + c, mask, z);
            }
        }
        wrong |= _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
    }
    return wrong == 0;
}
