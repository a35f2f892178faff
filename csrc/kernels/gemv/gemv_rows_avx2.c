#include "gemv.h"

#include <immintrin.h>

#include "nnf/partial_avx2.h"
#include "nnf/unroll.h"

enum { ROWS = 8, LANES = 8 };

/* Adds the products of one matrix; rows beyond `live` repeat the last. */
INLINE void accumulate(__m256 sum[ROWS], size_t live, const float *x, size_t k, const float *w)
{
    const float *row[ROWS];
    for (size_t r = 0; r < ROWS; r++)
        row[r] = w + (r < live ? r : live - 1) * k;
    size_t i = 0;
    for (; i + LANES <= k; i += LANES) {
        const __m256 value = _mm256_loadu_ps(x + i);
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = _mm256_fmadd_ps(value, _mm256_loadu_ps(row[r] + i), sum[r]);
    }
    if (i < k) {
        const __m256i rest = nnf_lanes_avx2((ptrdiff_t)(k - i));
        const __m256 value = _mm256_maskload_ps(x + i, rest);
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = _mm256_fmadd_ps(value, _mm256_maskload_ps(row[r] + i, rest), sum[r]);
    }
}

/* Lane r of the result is the sum of the lanes of sum[r]. */
static inline __m256 totals(const __m256 sum[ROWS])
{
    const __m256 low = _mm256_hadd_ps(_mm256_hadd_ps(sum[0], sum[1]), _mm256_hadd_ps(sum[2], sum[3]));
    const __m256 high = _mm256_hadd_ps(_mm256_hadd_ps(sum[4], sum[5]), _mm256_hadd_ps(sum[6], sum[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

void nnf_gemv_f32_rows__avx2_8(const nnf_gemv_f32_matrix *p)
{
    for (size_t j = 0; j < p->rows; j += ROWS) {
        const size_t live = p->rows - j < ROWS ? p->rows - j : ROWS;
        __m256 sum[ROWS];
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = _mm256_setzero_ps();
        if (p->k0)
            accumulate(sum, live, p->x0, p->k0, p->w0 + j * p->k0);
        if (p->k1)
            accumulate(sum, live, p->x1, p->k1, p->w1 + j * p->k1);
        __m256 total = totals(sum);
        if (p->start)
            total = _mm256_add_ps(total, _mm256_maskload_ps(p->start + j, nnf_lanes_avx2((ptrdiff_t)live)));
        /* min/max return the second operand when either is NaN. */
        total = _mm256_min_ps(_mm256_set1_ps(p->hi), _mm256_max_ps(_mm256_set1_ps(p->lo), total));
        nnf_store_f32_avx2(p->y + j, (ptrdiff_t)live, total);
    }
}

/* Eight rows of codes; what is left of a row behind whole vectors is added by itself. */
INLINE void gemv_codes(int is_signed, size_t rows, size_t k, const int16_t *x, const uint8_t *w, int32_t *y)
{
    for (size_t j = 0; j < rows; j += ROWS) {
        const size_t live = rows - j < ROWS ? rows - j : ROWS, whole = k & ~(size_t)15;
        const uint8_t *row[ROWS];
        __m256i sum[ROWS];
        NNF_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            row[r] = w + (j + (r < live ? r : live - 1)) * k;
            sum[r] = _mm256_setzero_si256();
        }
        for (size_t i = 0; i < whole; i += 16) {
            const __m256i words = _mm256_loadu_si256((const __m256i *)(x + i));
            NNF_UNROLL
            for (int r = 0; r < ROWS; r++) {
                const __m128i codes = _mm_loadu_si128((const __m128i *)(row[r] + i));
                const __m256i wide = is_signed ? _mm256_cvtepi8_epi16(codes) : _mm256_cvtepu8_epi16(codes);
                sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(words, wide));
            }
        }
        const __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(sum[0], sum[1]), _mm256_hadd_epi32(sum[2], sum[3]));
        const __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(sum[4], sum[5]), _mm256_hadd_epi32(sum[6], sum[7]));
        const __m256i total = _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                                               _mm256_permute2x128_si256(low, high, 0x31));
        const __m256i before = _mm256_maskload_epi32(y + j, nnf_lanes_avx2((ptrdiff_t)live));
        nnf_store_s32_avx2(y + j, (ptrdiff_t)live, _mm256_add_epi32(total, before));
        for (size_t r = 0; whole < k && r < live; r++) {
            uint32_t rest = (uint32_t)y[j + r];
            for (size_t i = whole; i < k; i++)
                rest += (uint32_t)(x[i] * (is_signed ? (int8_t)row[r][i] : row[r][i]));
            y[j + r] = (int32_t)rest;
        }
    }
}

void nnf_gemv_qs16_qs8_rows__avx2_8(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    gemv_codes(1, rows, k, x, w, y);
}

void nnf_gemv_qs16_qu8_rows__avx2_8(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    gemv_codes(0, rows, k, x, w, y);
}
