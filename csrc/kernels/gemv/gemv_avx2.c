#include "gemv.h"

#include <immintrin.h>

#include "nnf/partial_avx2.h"

/* Two sets of four accumulators hide the latency of the multiply-add. */
enum { DEPTH = 2, LANES = 8, PARTS = NNF_GEMV_N / LANES };

static inline const float *accumulate(__m256 sum[DEPTH][PARTS], const float *x, size_t count, const float *w)
{
    size_t k = 0;
    for (; k + DEPTH <= count; k += DEPTH) {
        for (int d = 0; d < DEPTH; d++, w += NNF_GEMV_N) {
            const __m256 value = _mm256_set1_ps(x[k + d]);
            for (int part = 0; part < PARTS; part++)
                sum[d][part] = _mm256_fmadd_ps(value, _mm256_load_ps(w + LANES * part), sum[d][part]);
        }
    }
    for (; k < count; k++, w += NNF_GEMV_N) {
        const __m256 value = _mm256_set1_ps(x[k]);
        for (int part = 0; part < PARTS; part++)
            sum[0][part] = _mm256_fmadd_ps(value, _mm256_load_ps(w + LANES * part), sum[0][part]);
    }
    return w;
}

void nnf_gemv_f32_tile__avx2_1x32(const nnf_gemv_f32_panel *p)
{
    const float *start = p->start ? p->start : p->packed;
    __m256 sum[DEPTH][PARTS];
    for (int part = 0; part < PARTS; part++) {
        sum[0][part] = _mm256_maskload_ps(start + LANES * part, nnf_lanes_avx2((ptrdiff_t)p->columns - LANES * part));
        sum[1][part] = _mm256_setzero_ps();
    }
    const float *w = accumulate(sum, p->x0, p->k0, p->packed + NNF_GEMV_N);
    accumulate(sum, p->x1, p->k1, w);
    for (int part = 0; part < PARTS; part++) {
        const __m256 total = _mm256_add_ps(sum[0][part], sum[1][part]);
        const __m256 value = _mm256_min_ps(_mm256_set1_ps(p->hi), _mm256_max_ps(_mm256_set1_ps(p->lo), total));
        nnf_store_f32_avx2(p->y + LANES * part, (ptrdiff_t)p->columns - LANES * part, value);
    }
}
