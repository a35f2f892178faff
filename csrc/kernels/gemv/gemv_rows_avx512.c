#include "gemv.h"

#include <immintrin.h>

#include "nnf/unroll.h"

enum { ROWS = 16 };

/* Adds the products of one matrix; rows beyond `live` repeat the last. */
INLINE void accumulate(__m512 sum[ROWS], size_t live, const float *x, size_t k, const float *w)
{
    const float *row[ROWS];
    for (size_t r = 0; r < ROWS; r++)
        row[r] = w + (r < live ? r : live - 1) * k;
    size_t i = 0;
    for (; i + 16 <= k; i += 16) {
        const __m512 value = _mm512_loadu_ps(x + i);
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = _mm512_fmadd_ps(value, _mm512_loadu_ps(row[r] + i), sum[r]);
    }
    if (i < k) {
        const __mmask16 rest = (__mmask16)((1u << (k - i)) - 1);
        const __m512 value = _mm512_maskz_loadu_ps(rest, x + i);
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = _mm512_fmadd_ps(value, _mm512_maskz_loadu_ps(rest, row[r] + i), sum[r]);
    }
}

static inline __m512 pairs(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

static inline __m512 quads(__m512 a, __m512 b)
{
    const __m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(c, d)), _mm512_castpd_ps(_mm512_unpackhi_pd(c, d)));
}

static inline __m512 halves(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* Lane r of the result is the sum of the lanes of sum[r]. */
static inline __m512 totals(const __m512 sum[ROWS])
{
    __m512 four[4];
    NNF_UNROLL
    for (int q = 0; q < 4; q++)
        four[q] = quads(pairs(sum[4 * q], sum[4 * q + 1]), pairs(sum[4 * q + 2], sum[4 * q + 3]));
    return halves(halves(four[0], four[1]), halves(four[2], four[3]));
}

void nnf_gemv_f32_rows__avx512_16(const nnf_gemv_f32_matrix *p)
{
    for (size_t j = 0; j < p->rows; j += ROWS) {
        const size_t live = p->rows - j < ROWS ? p->rows - j : ROWS;
        const __mmask16 mask = (__mmask16)((1u << live) - 1);
        __m512 sum[ROWS];
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = _mm512_setzero_ps();
        if (p->k0)
            accumulate(sum, live, p->x0, p->k0, p->w0 + j * p->k0);
        if (p->k1)
            accumulate(sum, live, p->x1, p->k1, p->w1 + j * p->k1);
        __m512 total = totals(sum);
        if (p->start)
            total = _mm512_add_ps(total, _mm512_maskz_loadu_ps(mask, p->start + j));
        /* min/max return the second operand when either is NaN. */
        total = _mm512_min_ps(_mm512_set1_ps(p->hi), _mm512_max_ps(_mm512_set1_ps(p->lo), total));
        _mm512_mask_storeu_ps(p->y + j, mask, total);
    }
}
