#include "pooling.h"

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>

#define INLINE static inline __attribute__((always_inline))

/* One output, 16 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void window_f32(const nnf_pool *g, size_t rows, size_t columns, const int vectors, __mmask16 mask, bool average,
                       const float *x, float *y, float lo, float hi)
{
    __m512 sum[4];
    __mmask16 nan[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        sum[v] = _mm512_set1_ps(average ? 0.0f : -INFINITY);
        nan[v] = 0;
    }
#pragma GCC unroll 3
    for (size_t i = 0; i < rows; i++, x += g->x.size * g->channels) {
        __m512 part[4], before[4];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            part[v] = average ? _mm512_setzero_ps() : sum[v];
            before[v] = part[v];
        }
#pragma GCC unroll 3
        for (size_t j = 0; j < columns; j++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const __m512 value = _mm512_maskz_loadu_ps(mask, x + j * g->channels + 16 * v);
                if (average) {
                    part[v] = _mm512_add_ps(part[v], value);
                } else {
                    part[v] = _mm512_max_ps(part[v], value);
                    /* One comparison for two columns. */
                    if (j % 2)
                        nan[v] = _kor_mask16(nan[v], _mm512_cmp_ps_mask(before[v], value, _CMP_UNORD_Q));
                    else if (j + 1 == columns)
                        nan[v] = _kor_mask16(nan[v], _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
                    before[v] = value;
                }
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[v] = average ? _mm512_add_ps(sum[v], part[v]) : part[v];
    }
    const __m512 count = _mm512_set1_ps((float)(rows * columns));
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        __m512 value = average ? _mm512_div_ps(sum[v], count) : sum[v];
        value = _mm512_mask_mov_ps(value, nan[v], _mm512_set1_ps(NAN));
        /* min/max return the second operand when either is NaN, so that a NaN stays one. */
        value = _mm512_min_ps(_mm512_set1_ps(hi), _mm512_max_ps(_mm512_set1_ps(lo), value));
        _mm512_mask_storeu_ps(y + 16 * v, mask, value);
    }
}

INLINE void pool_f32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const float *x, float *y,
                     float lo, float hi, bool average)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            size_t c = begin;
            for (; c + 64 <= end; c += 64)
                window_f32(g, w.rows, w.columns, 4, 0xFFFF, average, x + w.start + c, y + c, lo, hi);
            for (; c + 32 <= end; c += 32)
                if (w.rows == 3 && w.columns == 3)
                    window_f32(g, 3, 3, 2, 0xFFFF, average, x + w.start + c, y + c, lo, hi);
                else
                    window_f32(g, w.rows, w.columns, 2, 0xFFFF, average, x + w.start + c, y + c, lo, hi);
            for (; c < end; c += 16) {
                const __mmask16 mask = end - c >= 16 ? 0xFFFF : (__mmask16)((1u << (end - c)) - 1);
                window_f32(g, w.rows, w.columns, 1, mask, average, x + w.start + c, y + c, lo, hi);
            }
        }
    }
}

INLINE void max_q8(const nnf_pool *g, const nnf_pool_window *w, __mmask64 mask, const uint8_t *x, uint8_t *y,
                   int32_t lo, int32_t hi, bool is_signed)
{
    __m512i most = _mm512_set1_epi8(is_signed ? -128 : 0);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        for (size_t j = 0; j < w->columns; j++) {
            const __m512i value = _mm512_maskz_loadu_epi8(mask, x + j * g->channels);
            most = is_signed ? _mm512_max_epi8(most, value) : _mm512_max_epu8(most, value);
        }
    }
    const __m512i low = _mm512_set1_epi8((char)lo), high = _mm512_set1_epi8((char)hi);
    most = is_signed ? _mm512_min_epi8(_mm512_max_epi8(most, low), high)
                     : _mm512_min_epu8(_mm512_max_epu8(most, low), high);
    _mm512_mask_storeu_epi8(y, mask, most);
}

INLINE void average_q8(const nnf_pool *g, const nnf_pool_window *w, const int vectors, __mmask16 mask,
                       const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi, bool is_signed)
{
    __m512i sum[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sum[v] = _mm512_setzero_si512();
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        for (size_t j = 0; j < w->columns; j++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const __m128i bytes = _mm_maskz_loadu_epi8(mask, x + j * g->channels + 16 * v);
                const __m512i value = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
                sum[v] = _mm512_add_epi32(sum[v], value);
            }
        }
    }
    const int32_t n = (int32_t)(w->rows * w->columns);
    const __m512 count = _mm512_set1_ps((float)n);
    const __m512i half = _mm512_set1_epi32(n / 2);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const __mmask16 above = _mm512_cmpgt_epi32_mask(sum[v], _mm512_setzero_si512());
        __m512i mean = _mm512_mask_add_epi32(_mm512_sub_epi32(sum[v], half), above, sum[v], half);
        mean = _mm512_cvttps_epi32(_mm512_div_ps(_mm512_cvtepi32_ps(mean), count));
        mean = _mm512_min_epi32(_mm512_max_epi32(mean, _mm512_set1_epi32(lo)), _mm512_set1_epi32(hi));
        _mm_mask_storeu_epi8(y + 16 * v, mask, _mm512_cvtepi32_epi8(mean));
    }
}

INLINE void pool_q8(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
                    uint8_t *y, int32_t lo, int32_t hi, bool average, bool is_signed)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            size_t c = begin;
            for (; average && c + 64 <= end; c += 64)
                average_q8(g, &w, 4, 0xFFFF, x + w.start + c, y + c, lo, hi, is_signed);
            for (; average && c < end; c += 16) {
                const __mmask16 mask = end - c >= 16 ? 0xFFFF : (__mmask16)((1u << (end - c)) - 1);
                average_q8(g, &w, 1, mask, x + w.start + c, y + c, lo, hi, is_signed);
            }
            for (; c < end; c += 64) {
                const __mmask64 mask = end - c >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << (end - c)) - 1;
                max_q8(g, &w, mask, x + w.start + c, y + c, lo, hi, is_signed);
            }
        }
    }
}

void nnf_average_pool2d_f32_nhwc__avx512_64(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                            const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, true);
}

void nnf_average_pool2d_qu8_nhwc__avx512_64(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                            const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, false);
}

void nnf_average_pool2d_qs8_nhwc__avx512_64(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                            const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, true);
}

void nnf_max_pool2d_f32_nhwc__avx512_64(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                        const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, false);
}

void nnf_max_pool2d_qu8_nhwc__avx512_64(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                        const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, false);
}

void nnf_max_pool2d_qs8_nhwc__avx512_64(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                        const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, true);
}

void nnf_l2_pool2d_f32_nhwc__avx512_8(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const float *x, float *y, float lo, float hi)
{
    const __m512d low = _mm512_set1_pd(lo), high = _mm512_set1_pd(hi);
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            const __m512d count = _mm512_set1_pd((double)(w.rows * w.columns));
            for (size_t c = begin; c < end; c += 8) {
                const __mmask8 live = end - c < 8 ? (__mmask8)((1u << (end - c)) - 1) : 0xFF;
                __m512d sum = _mm512_setzero_pd();
                for (size_t i = 0; i < w.rows; i++) {
                    const float *at = x + w.start + i * g->x.size * g->channels + c;
                    for (size_t j = 0; j < w.columns; j++) {
                        const __m512d value = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(live, at + j * g->channels));
                        sum = _mm512_fmadd_pd(value, value, sum);
                    }
                }
                /* min/max return the second operand when either is NaN, so that a NaN stays one. */
                __m512d root = _mm512_sqrt_pd(_mm512_div_pd(sum, count));
                root = _mm512_min_pd(high, _mm512_max_pd(low, root));
                _mm256_mask_storeu_ps(y + c, live, _mm512_cvtpd_ps(root));
            }
        }
    }
}
