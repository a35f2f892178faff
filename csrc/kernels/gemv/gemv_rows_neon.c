#include "gemv.h"

#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

enum { ROWS = 8 };

/* Adds the products of one matrix; rows beyond `live` repeat the last. */
INLINE void accumulate(float32x4_t sum[ROWS], size_t live, const float *x, size_t k, const float *w)
{
    const float *row[ROWS];
    NNF_UNROLL
    for (size_t r = 0; r < ROWS; r++)
        row[r] = w + (r < live ? r : live - 1) * k;
    size_t i = 0;
    for (; i + 8 <= k; i += 8) {
        const float32x4_t first = vld1q_f32(x + i), second = vld1q_f32(x + i + 4);
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++) {
            sum[r] = vfmaq_f32(sum[r], first, vld1q_f32(row[r] + i));
            sum[r] = vfmaq_f32(sum[r], second, vld1q_f32(row[r] + i + 4));
        }
    }
    if (i + 4 <= k) {
        const float32x4_t value = vld1q_f32(x + i);
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = vfmaq_f32(sum[r], value, vld1q_f32(row[r] + i));
        i += 4;
    }
    if (i < k) {
        const float32x4_t value = nnf_load_f32_neon(x + i, k - i);
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = vfmaq_f32(sum[r], value, nnf_load_f32_neon(row[r] + i, k - i));
    }
}

/* Lane r of the result is the sum of the lanes of sum[r]. */
INLINE float32x4_t totals(const float32x4_t sum[4])
{
    return vpaddq_f32(vpaddq_f32(sum[0], sum[1]), vpaddq_f32(sum[2], sum[3]));
}

INLINE void finish(const nnf_gemv_f32_matrix *p, size_t j, float32x4_t total)
{
    const size_t live = p->rows - j;
    if (p->start)
        total = vaddq_f32(total, nnf_load_f32_neon(p->start + j, live));
    total = vminq_f32(vdupq_n_f32(p->hi), vmaxq_f32(vdupq_n_f32(p->lo), total)); /* both keep a NaN */
    nnf_store_f32_neon(p->y + j, total, live);
}

void nnf_gemv_f32_rows__neon_8(const nnf_gemv_f32_matrix *p)
{
    for (size_t j = 0; j < p->rows; j += ROWS) {
        const size_t live = p->rows - j < ROWS ? p->rows - j : ROWS;
        float32x4_t sum[ROWS];
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = vdupq_n_f32(0);
        if (p->k0)
            accumulate(sum, live, p->x0, p->k0, p->w0 + j * p->k0);
        if (p->k1)
            accumulate(sum, live, p->x1, p->k1, p->w1 + j * p->k1);
        finish(p, j, totals(sum));
        if (live > 4)
            finish(p, j + 4, totals(sum + 4));
    }
}

/* Eight rows of codes; what is left of a row behind whole vectors is added by itself. */
INLINE void gemv_codes(int is_signed, size_t rows, size_t k, const int16_t *x, const uint8_t *w, int32_t *y)
{
    for (size_t j = 0; j < rows; j += ROWS) {
        const size_t live = rows - j < ROWS ? rows - j : ROWS, whole = k / 8 * 8;
        const uint8_t *row[ROWS];
        int32x4_t sum[ROWS];
        NNF_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            row[r] = w + (j + (r < live ? r : live - 1)) * k;
            sum[r] = vdupq_n_s32(0);
        }
        for (size_t i = 0; i < whole; i += 8) {
            const int16x8_t words = vld1q_s16(x + i);
            NNF_UNROLL
            for (int r = 0; r < ROWS; r++) {
                const uint8x8_t codes = vld1_u8(row[r] + i);
                const int16x8_t wide = is_signed ? vmovl_s8(vreinterpret_s8_u8(codes))
                                                 : vreinterpretq_s16_u16(vmovl_u8(codes));
                sum[r] = vmlal_s16(sum[r], vget_low_s16(words), vget_low_s16(wide));
                sum[r] = vmlal_high_s16(sum[r], words, wide);
            }
        }
        uint32_t total[ROWS];
        NNF_UNROLL
        for (int r = 0; r < ROWS; r++)
            total[r] = (uint32_t)vaddvq_s32(sum[r]);
        for (size_t r = 0; r < live; r++) {
            for (size_t i = whole; i < k; i++)
                total[r] += (uint32_t)(x[i] * (is_signed ? (int8_t)row[r][i] : row[r][i]));
            y[j + r] = (int32_t)((uint32_t)y[j + r] + total[r]);
        }
    }
}

void nnf_gemv_qs16_qs8_rows__neon_8(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    gemv_codes(1, rows, k, x, w, y);
}

void nnf_gemv_qs16_qu8_rows__neon_8(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    gemv_codes(0, rows, k, x, w, y);
}
