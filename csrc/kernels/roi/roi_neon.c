#include "roi.h"

#include <stdbool.h>

#include "nnf/partial_neon.h"
#include "nnf/requantize_neon.h"
#include "nnf/unroll.h"

#define INLINE static inline __attribute__((always_inline))

/* 4 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void bin_f32(const nnf_roi *g, const float *w, const int vectors, size_t channels, const float *x, float *y)
{
    float32x4_t sum[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = vdupq_n_f32(0);
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const float *line = x + g->row[r];
        float32x4_t part[4];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            part[v] = vdupq_n_f32(0);
        for (size_t c = 0; c < g->columns; c++) {
            const float *at = line + g->column[c];
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                part[v] = vfmaq_n_f32(part[v], nnf_load_f32_neon(at + 4 * v, channels), w[c]);
        }
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = vaddq_f32(sum[v], part[v]);
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        nnf_store_f32_neon(y + 4 * v, sum[v], channels);
}

void nnf_roi_align_f32_nhwc__neon_16(const nnf_roi *g, const float *w, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        bin_f32(g, w, 4, 4, x + i, y + i);
    for (; i + 4 <= n; i += 4)
        bin_f32(g, w, 1, 4, x + i, y + i);
    if (i < n)
        bin_f32(g, w, 1, n - i, x + i, y + i);
}

/* 8 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void bin_q8(const nnf_roi *g, const int32_t *w, const int vectors, size_t channels, const uint8_t *x, uint8_t *y,
                   const nnf_roi_q8 *q, bool is_signed)
{
    const int16x8_t zero = vdupq_n_s16((int16_t)q->zero_x);
    int32x4_t sum[2][2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v][0] = sum[v][1] = vdupq_n_s32(0);
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const uint8_t *line = x + g->row[r];
        for (size_t c = 0; c < g->columns; c++) {
            const uint8_t *at = line + g->column[c];
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const uint8x8_t bytes = nnf_load_u8_neon(at + 8 * v, channels);
                const int16x8_t raw = is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes))
                                                : vreinterpretq_s16_u16(vmovl_u8(bytes));
                const int16x8_t code = vsubq_s16(raw, zero);
                sum[v][0] = vmlaq_n_s32(sum[v][0], vmovl_s16(vget_low_s16(code)), w[c]);
                sum[v][1] = vmlaq_n_s32(sum[v][1], vmovl_high_s16(code), w[c]);
            }
        }
    }
    const int32x4_t multiplier = vdupq_n_s32(q->multiplier), left = vdupq_n_s32(q->exponent > 0 ? q->exponent : 0);
    const int32x4_t down = vdupq_n_s32(q->exponent > 0 ? 0 : q->exponent);
    const int16x8_t zero_y = vdupq_n_s16((int16_t)q->zero_y);
    const int16x8_t lo = vdupq_n_s16((int16_t)q->lo), hi = vdupq_n_s16((int16_t)q->hi);
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        /* Saturation to 16 bits does not disturb the clamp, whose limits are codes. */
        const int16x4_t low = vqmovn_s32(nnf_mbqm_neon(sum[v][0], multiplier, left, down));
        const int16x4_t high = vqmovn_s32(nnf_mbqm_neon(sum[v][1], multiplier, left, down));
        const int16x8_t code = vminq_s16(vmaxq_s16(vqaddq_s16(vcombine_s16(low, high), zero_y), lo), hi);
        nnf_store_u8_neon(y + 8 * v, vreinterpret_u8_s8(vmovn_s16(code)), channels);
    }
}

INLINE void align_q8(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y, const nnf_roi_q8 *q,
                     bool is_signed)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        bin_q8(g, w, 2, 8, x + i, y + i, q, is_signed);
    for (; i + 8 <= n; i += 8)
        bin_q8(g, w, 1, 8, x + i, y + i, q, is_signed);
    if (i < n)
        bin_q8(g, w, 1, n - i, x + i, y + i, q, is_signed);
}

void nnf_roi_align_qu8_nhwc__neon_16(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                     const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, false);
}

void nnf_roi_align_qs8_nhwc__neon_16(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                     const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, true);
}
