#include "conv2d_bf16.h"

#include <arm_neon.h>

#include "nnf/bf16_neon.h"
#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

enum { M = 6, N = 16 };

/* Two rows by two columns, four products each. */
INLINE float32x4_t multiply(float32x4_t sum, uint16x8_t a, uint16x8_t weights)
{
    return vbfmmlaq_f32(sum, vreinterpretq_bf16_u16(a), vreinterpretq_bf16_u16(weights));
}

INLINE uint16x4_t pair(const uint16_t *from)
{
    uint32_t both;
    memcpy(&both, from, sizeof both);
    return vcreate_u16(both);
}

/* Rows in pairs, of an odd number the last one twice; a sum holds two rows of two columns. */
INLINE void tile(const nnf_conv2d_bf16_tile *t, const int rows, const int vectors)
{
    const int row_pairs = (rows + 1) / 2;
    const uint16_t *w = nnf_conv2d_bf16_weights(t->w, (size_t)(4 * vectors));
    float32x4_t sum[M / 2][N / 2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const float32x4_t bias = vld1q_f32(t->w + 4 * v);
        NNF_UNROLL
        for (int p = 0; p < row_pairs; p++) {
            sum[p][2 * v] = vcombine_f32(vget_low_f32(bias), vget_low_f32(bias));
            sum[p][2 * v + 1] = vcombine_f32(vget_high_f32(bias), vget_high_f32(bias));
        }
    }
    for (size_t tap = 0; tap < t->taps; tap++) {
        const uint16_t *a[M];
        NNF_UNROLL
        for (int i = 0; i < 2 * row_pairs; i++)
            a[i] = t->a + t->tap[tap] + (size_t)(i < rows ? i : rows - 1) * t->lda;
        size_t k = 0;
        for (; k + 2 <= t->pairs; k += 2, w += 16 * vectors) {
            uint16x8_t x[M / 2];
            NNF_UNROLL
            for (int p = 0; p < row_pairs; p++)
                x[p] = vcombine_u16(vld1_u16(a[2 * p] + 2 * k), vld1_u16(a[2 * p + 1] + 2 * k));
            NNF_UNROLL
            for (int q = 0; q < 2 * vectors; q += 2) {
                const uint16x8_t even = vld1q_u16(w + 8 * q), odd = vld1q_u16(w + 8 * (q + 1));
                NNF_UNROLL
                for (int p = 0; p < row_pairs; p++) {
                    sum[p][q] = multiply(sum[p][q], x[p], even);
                    sum[p][q + 1] = multiply(sum[p][q + 1], x[p], odd);
                }
                __asm__ volatile("" ::: "memory"); /* no weights are loaded before: there is no register for them */
            }
        }
        if (k == t->pairs)
            continue;
        uint16x8_t x[M / 2];
        NNF_UNROLL
        for (int p = 0; p < row_pairs; p++)
            x[p] = vcombine_u16(pair(a[2 * p] + 2 * k), pair(a[2 * p + 1] + 2 * k));
        NNF_UNROLL
        for (int v = 0; v < vectors; v++, w += 8) {
            const uint32x4_t words = vreinterpretq_u32_u16(vld1q_u16(w)), none = vdupq_n_u32(0);
            const uint16x8_t low = vreinterpretq_u16_u32(vzip1q_u32(words, none));
            const uint16x8_t high = vreinterpretq_u16_u32(vzip2q_u32(words, none));
            NNF_UNROLL
            for (int p = 0; p < row_pairs; p++) {
                sum[p][2 * v] = multiply(sum[p][2 * v], x[p], low);
                sum[p][2 * v + 1] = multiply(sum[p][2 * v + 1], x[p], high);
            }
        }
    }
    const float32x4_t lo = vdupq_n_f32(t->lo), hi = vdupq_n_f32(t->hi);
    const size_t columns = t->columns;
    size_t column = t->at;
    float *c = t->c;
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const int kept = column < t->line;
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const float64x2_t left = vreinterpretq_f64_f32(sum[i / 2][2 * v]);
            const float64x2_t right = vreinterpretq_f64_f32(sum[i / 2][2 * v + 1]);
            const float32x4_t y = vreinterpretq_f32_f64(i % 2 ? vzip2q_f64(left, right) : vzip1q_f64(left, right));
            if (kept && columns > (size_t)(4 * v)) /* a NaN goes through min and max */
                nnf_store_f32_neon(c + 4 * v, vminq_f32(hi, vmaxq_f32(lo, y)), columns - (size_t)(4 * v));
        }
        c += kept ? t->ldc : 0;
        column = column + 1 < t->span ? column + 1 : 0;
    }
}

INLINE void tile_of_rows(const nnf_conv2d_bf16_tile *t, const int vectors)
{
    switch (t->rows) {
    case 1: tile(t, 1, vectors); break;
    case 2: tile(t, 2, vectors); break;
    case 3: tile(t, 3, vectors); break;
    case 4: tile(t, 4, vectors); break;
    case 5: tile(t, 5, vectors); break;
    default: tile(t, 6, vectors); break;
    }
}

void nnf_conv2d_bf16_nhwc__neonbf16_6x16k4(const nnf_conv2d_bf16_tile *t)
{
    nnf_conv2d_bf16_tile part = *t;
    for (size_t j = 0; j < t->columns; j += N) {
        const size_t here = t->columns - j < N ? t->columns - j : N, width = nnf_conv2d_width(here, N);
        part.columns = here;
        part.c = t->c + j;
        if (width == N)
            tile_of_rows(&part, 4);
        else
            tile_of_rows(&part, 2);
        part.w += nnf_conv2d_bf16_panel(width, t->taps * t->pairs) / sizeof(float);
    }
}

void nnf_conv2d_gather_bf16_nhwc__neonbf16_8(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to,
                                             size_t ldt)
{
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        size_t k = 0;
        for (; k + 8 <= n; k += 8)
            vst1q_u16(to + k, nnf_bf16_of_f32_neon(vld1q_f32(x + k), vld1q_f32(x + k + 4)));
        if (k < n) {
            const size_t rest = n - k;
            const float32x4_t low = nnf_load_f32_neon(x + k, rest);
            const float32x4_t high = rest > 4 ? nnf_load_f32_neon(x + k + 4, rest - 4) : low;
            nnf_storeq_u8_neon((uint8_t *)(to + k), vreinterpretq_u8_u16(nnf_bf16_of_f32_neon(low, high)), 2 * rest);
        }
    }
}
