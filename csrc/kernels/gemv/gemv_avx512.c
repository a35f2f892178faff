#include "gemv.h"

#include <immintrin.h>
#include <stdint.h>

/* Four pairs of accumulators hide the latency of the multiply-add. */
enum { DEPTH = 4 };

static inline __m512 fma_at(const float *x, const float *w, __m512 sum)
{
    return _mm512_fmadd_ps(_mm512_set1_ps(*x), _mm512_load_ps(w), sum);
}

static inline const float *accumulate(__m512 sum[DEPTH][2], const float *x, size_t count, const float *w)
{
    size_t k = 0;
    for (; k + DEPTH <= count; k += DEPTH, w += DEPTH * NNF_GEMV_N) {
        for (int d = 0; d < DEPTH; d++) {
            sum[d][0] = fma_at(x + k + d, w + d * NNF_GEMV_N, sum[d][0]);
            sum[d][1] = fma_at(x + k + d, w + d * NNF_GEMV_N + 16, sum[d][1]);
        }
    }
    for (; k < count; k++, w += NNF_GEMV_N) {
        sum[0][0] = fma_at(x + k, w, sum[0][0]);
        sum[0][1] = fma_at(x + k, w + 16, sum[0][1]);
    }
    return w;
}

void nnf_gemv_f32_tile__avx512_1x32(const nnf_gemv_f32_panel *p)
{
    const __mmask32 live = (__mmask32)((UINT64_C(1) << p->columns) - 1);
    const __mmask16 half[2] = {(__mmask16)live, (__mmask16)(live >> 16)};
    const float *start = p->start ? p->start : p->packed;
    __m512 sum[DEPTH][2];
    for (int h = 0; h < 2; h++) {
        sum[0][h] = _mm512_maskz_loadu_ps(half[h], start + 16 * h);
        for (int d = 1; d < DEPTH; d++)
            sum[d][h] = _mm512_setzero_ps();
    }
    const float *w = accumulate(sum, p->x0, p->k0, p->packed + NNF_GEMV_N);
    accumulate(sum, p->x1, p->k1, w);
    for (int h = 0; h < 2; h++) {
        const __m512 total = _mm512_add_ps(_mm512_add_ps(sum[0][h], sum[1][h]), _mm512_add_ps(sum[2][h], sum[3][h]));
        const __m512 value = _mm512_min_ps(_mm512_set1_ps(p->hi), _mm512_max_ps(_mm512_set1_ps(p->lo), total));
        _mm512_mask_storeu_ps(p->y + 16 * h, half[h], value);
    }
}
