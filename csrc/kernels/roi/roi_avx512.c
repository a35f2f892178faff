#include "roi.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/requantize_avx512.h"

#define INLINE static inline __attribute__((always_inline))

/* 16 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void bin_f32(const nnf_roi *g, const float *w, const int vectors, __mmask16 mask, const float *x, float *y)
{
    __m512 sum[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sum[v] = _mm512_setzero_ps();
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const float *line = x + g->row[r];
        __m512 part[4];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            part[v] = _mm512_setzero_ps();
        for (size_t c = 0; c < g->columns; c++) {
            const __m512 weight = _mm512_set1_ps(w[c]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const float *at = line + g->column[c] + 16 * v;
                part[v] = _mm512_fmadd_ps(weight, vectors == 4 ? _mm512_loadu_ps(at) : _mm512_maskz_loadu_ps(mask, at),
                                          part[v]);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[v] = _mm512_add_ps(sum[v], part[v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        if (vectors == 4)
            _mm512_storeu_ps(y + 16 * v, sum[v]);
        else
            _mm512_mask_storeu_ps(y, mask, sum[v]);
    }
}

void nnf_roi_align_f32_nhwc__avx512_64(const nnf_roi *g, const float *w, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        bin_f32(g, w, 4, 0xFFFF, x + i, y + i);
    for (; i < n; i += 16)
        bin_f32(g, w, 1, n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xFFFF, x + i, y + i);
}

INLINE void bin_q8(const nnf_roi *g, const int32_t *w, const int vectors, __mmask16 mask, const uint8_t *x, uint8_t *y,
                   const nnf_roi_q8 *q, bool is_signed)
{
    const __m512i zero = _mm512_set1_epi32(q->zero_x);
    __m512i sum[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sum[v] = _mm512_setzero_si512();
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const uint8_t *line = x + g->row[r];
        for (size_t c = 0; c < g->columns; c++) {
            const __m512i weight = _mm512_set1_epi32(w[c]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const uint8_t *at = line + g->column[c] + 16 * v;
                const __m128i codes = vectors == 4 ? _mm_loadu_si128((const __m128i *)at)
                                                   : _mm_maskz_loadu_epi8(mask, at);
                const __m512i value = is_signed ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes);
                sum[v] = _mm512_add_epi32(sum[v], _mm512_mullo_epi32(weight, _mm512_sub_epi32(value, zero)));
            }
        }
    }
    const __m512i multiplier = _mm512_set1_epi32(q->multiplier), zero_y = _mm512_set1_epi32(q->zero_y);
    const __m512i left = _mm512_set1_epi32(q->exponent > 0 ? q->exponent : 0);
    const __m512i right = _mm512_set1_epi32(q->exponent > 0 ? 0 : -q->exponent);
    const __m512i lo = _mm512_set1_epi32(q->lo - q->zero_y), hi = _mm512_set1_epi32(q->hi - q->zero_y);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        __m512i code = nnf_mbqm_avx512(sum[v], multiplier, left, right);
        code = _mm512_add_epi32(_mm512_min_epi32(_mm512_max_epi32(code, lo), hi), zero_y);
        if (vectors == 4)
            _mm_storeu_si128((__m128i *)(y + 16 * v), _mm512_cvtepi32_epi8(code));
        else
            _mm_mask_storeu_epi8(y, mask, _mm512_cvtepi32_epi8(code));
    }
}

INLINE void align_q8(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y, const nnf_roi_q8 *q,
                     bool is_signed)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        bin_q8(g, w, 4, 0xFFFF, x + i, y + i, q, is_signed);
    for (; i < n; i += 16)
        bin_q8(g, w, 1, n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xFFFF, x + i, y + i, q, is_signed);
}

void nnf_roi_align_qu8_nhwc__avx512_64(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                       const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, false);
}

void nnf_roi_align_qs8_nhwc__avx512_64(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                       const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, true);
}
