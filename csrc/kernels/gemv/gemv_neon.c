#include "gemv.h"

#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

/* Two sets of eight accumulators hide the latency of the multiply-add. */
enum { SETS = 2, PARTS = NNF_GEMV_N / 4 };

#define STEP(value, lane)                                                                                              \
    do {                                                                                                               \
        NNF_UNROLL                                                                                                     \
        for (int part = 0; part < PARTS; part++) {                                                                     \
            float32x4_t *s = &sum[(lane) % SETS][part];                                                                \
            *s = vfmaq_laneq_f32(*s, vld1q_f32(w + 4 * part), value, lane);                                            \
        }                                                                                                              \
        w += NNF_GEMV_N;                                                                                               \
    } while (0)

INLINE const float *accumulate(float32x4_t sum[SETS][PARTS], const float *x, size_t count, const float *w)
{
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        const float32x4_t value = vld1q_f32(x + k);
        STEP(value, 0);
        STEP(value, 1);
        STEP(value, 2);
        STEP(value, 3);
    }
    for (; k < count; k++) {
        const float32x4_t value = vdupq_n_f32(x[k]);
        STEP(value, 0);
    }
    return w;
}

void nnf_gemv_f32_tile__neon_1x32(const nnf_gemv_f32_panel *p)
{
    const float *start = p->start ? p->start : p->packed;
    float32x4_t sum[SETS][PARTS];
    NNF_UNROLL
    for (int part = 0; part < PARTS; part++) {
        const size_t at = (size_t)(4 * part);
        sum[0][part] = at < p->columns ? nnf_load_f32_neon(start + at, p->columns - at) : vdupq_n_f32(0);
        sum[1][part] = vdupq_n_f32(0);
    }
    const float *w = accumulate(sum, p->x0, p->k0, p->packed + NNF_GEMV_N);
    accumulate(sum, p->x1, p->k1, w);
    const float32x4_t lo = vdupq_n_f32(p->lo), hi = vdupq_n_f32(p->hi);
    NNF_UNROLL
    for (int part = 0; part < PARTS; part++) {
        const size_t at = (size_t)(4 * part);
        const float32x4_t value = vminq_f32(hi, vmaxq_f32(lo, vaddq_f32(sum[0][part], sum[1][part])));
        if (at < p->columns)
            nnf_store_f32_neon(p->y + at, value, p->columns - at);
    }
}
