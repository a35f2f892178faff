#include "roi.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "nnf/requantize_avx2.h"

#define INLINE static inline __attribute__((always_inline))

/* 8 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void bin_f32(const nnf_roi *g, const float *w, const int vectors, __m256i mask, const float *x, float *y)
{
    __m256 sum[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sum[v] = _mm256_setzero_ps();
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const float *line = x + g->row[r];
        __m256 part[4];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            part[v] = _mm256_setzero_ps();
        for (size_t c = 0; c < g->columns; c++) {
            const __m256 weight = _mm256_set1_ps(w[c]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const float *at = line + g->column[c] + 8 * v;
                part[v] = _mm256_fmadd_ps(weight, vectors == 4 ? _mm256_loadu_ps(at) : _mm256_maskload_ps(at, mask),
                                          part[v]);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[v] = _mm256_add_ps(sum[v], part[v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        if (vectors == 4)
            _mm256_storeu_ps(y + 8 * v, sum[v]);
        else
            _mm256_maskstore_ps(y, mask, sum[v]);
    }
}

void nnf_roi_align_f32_nhwc__avx2_32(const nnf_roi *g, const float *w, size_t n, const float *x, float *y)
{
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        bin_f32(g, w, 4, count, x + i, y + i);
    for (; i < n; i += 8)
        bin_f32(g, w, 1, _mm256_cmpgt_epi32(_mm256_set1_epi32(n - i < 8 ? (int)(n - i) : 8), count), x + i, y + i);
}

/* 8 channels in each of `vectors`, or fewer than 8 through a copy. */
INLINE void bin_q8(const nnf_roi *g, const int32_t *w, const int vectors, size_t channels, const uint8_t *x, uint8_t *y,
                   const nnf_roi_q8 *q, bool is_signed)
{
    const __m256i zero = _mm256_set1_epi32(q->zero_x);
    uint8_t copy[8] = {0};
    __m256i sum[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sum[v] = _mm256_setzero_si256();
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const uint8_t *line = x + g->row[r];
        for (size_t c = 0; c < g->columns; c++) {
            const __m256i weight = _mm256_set1_epi32(w[c]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const uint8_t *at = line + g->column[c] + 8 * v;
                if (channels < 8)
                    at = memcpy(copy, at, channels);
                const __m128i codes = _mm_loadl_epi64((const __m128i *)at);
                const __m256i value = is_signed ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes);
                sum[v] = _mm256_add_epi32(sum[v], _mm256_mullo_epi32(weight, _mm256_sub_epi32(value, zero)));
            }
        }
    }
    const __m256i multiplier = _mm256_set1_epi32(q->multiplier), zero_y = _mm256_set1_epi32(q->zero_y);
    const __m256i left = _mm256_set1_epi32(q->exponent > 0 ? q->exponent : 0);
    const __m256i right = _mm256_set1_epi32(q->exponent > 0 ? 0 : -q->exponent);
    const __m256i lo = _mm256_set1_epi32(q->lo - q->zero_y), hi = _mm256_set1_epi32(q->hi - q->zero_y);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        __m256i code = nnf_mbqm_avx2(sum[v], multiplier, left, right);
        code = _mm256_add_epi32(_mm256_min_epi32(_mm256_max_epi32(code, lo), hi), zero_y);
        /* The low byte of each lane, then the two halves side by side. */
        code = _mm256_shuffle_epi8(code, _mm256_set1_epi32(0x0C080400));
        const __m128i bytes = _mm_unpacklo_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
        _mm_storel_epi64((__m128i *)copy, bytes);
        memcpy(y + 8 * v, copy, channels);
    }
}

INLINE void align_q8(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y, const nnf_roi_q8 *q,
                     bool is_signed)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        bin_q8(g, w, 4, 8, x + i, y + i, q, is_signed);
    for (; i + 8 <= n; i += 8)
        bin_q8(g, w, 1, 8, x + i, y + i, q, is_signed);
    if (i < n)
        bin_q8(g, w, 1, n - i, x + i, y + i, q, is_signed);
}

void nnf_roi_align_qu8_nhwc__avx2_32(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                     const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, false);
}

void nnf_roi_align_qs8_nhwc__avx2_32(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                     const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, true);
}
