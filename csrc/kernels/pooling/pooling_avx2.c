#include "pooling.h"

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* One output, 8 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void window_f32(const nnf_pool *g, const nnf_pool_window *w, const int vectors, __m256i mask, bool average,
                       const float *x, float *y, float lo, float hi)
{
    __m256 sum[4], nan[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        sum[v] = _mm256_set1_ps(average ? 0.0f : -INFINITY);
        nan[v] = _mm256_setzero_ps();
    }
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        __m256 part[4];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            part[v] = average ? _mm256_setzero_ps() : sum[v];
        for (size_t j = 0; j < w->columns; j++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const float *at = x + j * g->channels + 8 * v;
                const __m256 value = vectors == 4 ? _mm256_loadu_ps(at) : _mm256_maskload_ps(at, mask);
                if (average) {
                    part[v] = _mm256_add_ps(part[v], value);
                } else {
                    part[v] = _mm256_max_ps(part[v], value);
                    nan[v] = _mm256_or_ps(nan[v], _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
                }
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[v] = average ? _mm256_add_ps(sum[v], part[v]) : part[v];
    }
    const __m256 count = _mm256_set1_ps((float)(w->rows * w->columns));
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        __m256 value = average ? _mm256_div_ps(sum[v], count) : sum[v];
        value = _mm256_blendv_ps(value, _mm256_set1_ps(NAN), nan[v]);
        /* min/max return the second operand when either is NaN, so that a NaN stays one. */
        value = _mm256_min_ps(_mm256_set1_ps(hi), _mm256_max_ps(_mm256_set1_ps(lo), value));
        if (vectors == 4)
            _mm256_storeu_ps(y + 8 * v, value);
        else
            _mm256_maskstore_ps(y, mask, value);
    }
}

INLINE void pool_f32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const float *x, float *y,
                     float lo, float hi, bool average)
{
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            size_t c = begin;
            for (; c + 32 <= end; c += 32)
                window_f32(g, &w, 4, count, average, x + w.start + c, y + c, lo, hi);
            for (; c < end; c += 8) {
                const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(end - c < 8 ? (int)(end - c) : 8), count);
                window_f32(g, &w, 1, mask, average, x + w.start + c, y + c, lo, hi);
            }
        }
    }
}

/* 32 channels, or fewer through a copy. */
INLINE void max_q8(const nnf_pool *g, const nnf_pool_window *w, size_t channels, const uint8_t *x, uint8_t *y,
                   int32_t lo, int32_t hi, bool is_signed)
{
    uint8_t copy[32] = {0};
    __m256i most = _mm256_set1_epi8(is_signed ? -128 : 0);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        for (size_t j = 0; j < w->columns; j++) {
            const uint8_t *at = x + j * g->channels;
            if (channels < 32)
                at = memcpy(copy, at, channels);
            const __m256i value = _mm256_loadu_si256((const __m256i *)at);
            most = is_signed ? _mm256_max_epi8(most, value) : _mm256_max_epu8(most, value);
        }
    }
    const __m256i low = _mm256_set1_epi8((char)lo), high = _mm256_set1_epi8((char)hi);
    most = is_signed ? _mm256_min_epi8(_mm256_max_epi8(most, low), high)
                     : _mm256_min_epu8(_mm256_max_epu8(most, low), high);
    _mm256_storeu_si256((__m256i *)copy, most);
    memcpy(y, copy, channels);
}

/* 8 channels in each of `vectors`, or fewer than 8 through a copy. */
INLINE void average_q8(const nnf_pool *g, const nnf_pool_window *w, const int vectors, size_t channels,
                       const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi, bool is_signed)
{
    uint8_t copy[8] = {0};
    __m256i sum[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sum[v] = _mm256_setzero_si256();
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        for (size_t j = 0; j < w->columns; j++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const uint8_t *at = x + j * g->channels + 8 * v;
                if (channels < 8)
                    at = memcpy(copy, at, channels);
                const __m128i bytes = _mm_loadl_epi64((const __m128i *)at);
                const __m256i value = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
                sum[v] = _mm256_add_epi32(sum[v], value);
            }
        }
    }
    const int32_t n = (int32_t)(w->rows * w->columns);
    const __m256 count = _mm256_set1_ps((float)n);
    const __m256i half = _mm256_set1_epi32(n / 2);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const __m256i above = _mm256_cmpgt_epi32(sum[v], _mm256_setzero_si256());
        __m256i mean = _mm256_blendv_epi8(_mm256_sub_epi32(sum[v], half), _mm256_add_epi32(sum[v], half), above);
        mean = _mm256_cvttps_epi32(_mm256_div_ps(_mm256_cvtepi32_ps(mean), count));
        mean = _mm256_min_epi32(_mm256_max_epi32(mean, _mm256_set1_epi32(lo)), _mm256_set1_epi32(hi));
        /* The low byte of each lane, then the two halves side by side. */
        const __m256i low = _mm256_set1_epi32(0x0C080400);
        mean = _mm256_shuffle_epi8(mean, low);
        const __m128i code = _mm_unpacklo_epi32(_mm256_castsi256_si128(mean), _mm256_extracti128_si256(mean, 1));
        _mm_storel_epi64((__m128i *)copy, code);
        memcpy(y + 8 * v, copy, channels);
    }
}

INLINE void pool_q8(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
                    uint8_t *y, int32_t lo, int32_t hi, bool average, bool is_signed)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            size_t c = begin;
            for (; average && c + 32 <= end; c += 32)
                average_q8(g, &w, 4, 8, x + w.start + c, y + c, lo, hi, is_signed);
            for (; average && c + 8 <= end; c += 8)
                average_q8(g, &w, 1, 8, x + w.start + c, y + c, lo, hi, is_signed);
            if (average && c < end)
                average_q8(g, &w, 1, end - c, x + w.start + c, y + c, lo, hi, is_signed);
            for (; !average && c + 32 <= end; c += 32)
                max_q8(g, &w, 32, x + w.start + c, y + c, lo, hi, is_signed);
            if (!average && c < end)
                max_q8(g, &w, end - c, x + w.start + c, y + c, lo, hi, is_signed);
        }
    }
}

void nnf_average_pool2d_f32_nhwc__avx2_32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, true);
}

void nnf_average_pool2d_qu8_nhwc__avx2_32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, false);
}

void nnf_average_pool2d_qs8_nhwc__avx2_32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, true);
}

void nnf_max_pool2d_f32_nhwc__avx2_32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, false);
}

void nnf_max_pool2d_qu8_nhwc__avx2_32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, false);
}

void nnf_max_pool2d_qs8_nhwc__avx2_32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, true);
}

void nnf_l2_pool2d_f32_nhwc__avx2_4(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                    const float *x, float *y, float lo, float hi)
{
    const __m128i lanes = _mm_setr_epi32(0, 1, 2, 3);
    const __m256d low = _mm256_set1_pd(lo), high = _mm256_set1_pd(hi);
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            const __m256d count = _mm256_set1_pd((double)(w.rows * w.columns));
            for (size_t c = begin; c < end; c += 4) {
                const __m128i live = _mm_cmpgt_epi32(_mm_set1_epi32(end - c < 4 ? (int)(end - c) : 4), lanes);
                __m256d sum = _mm256_setzero_pd();
                for (size_t i = 0; i < w.rows; i++) {
                    const float *at = x + w.start + i * g->x.size * g->channels + c;
                    for (size_t j = 0; j < w.columns; j++) {
                        const __m256d value = _mm256_cvtps_pd(_mm_maskload_ps(at + j * g->channels, live));
                        sum = _mm256_fmadd_pd(value, value, sum);
                    }
                }
                /* min/max return the second operand when either is NaN, so that a NaN stays one. */
                __m256d root = _mm256_sqrt_pd(_mm256_div_pd(sum, count));
                root = _mm256_min_pd(high, _mm256_max_pd(low, root));
                _mm_maskstore_ps(y + c, live, _mm256_cvtpd_ps(root));
            }
        }
    }
}
