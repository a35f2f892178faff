#include "conv2d.h"

#include <arm_neon.h>
#include <string.h>

#include "conv2d_requantize_neon.h"
#include "nnf/unroll.h"

enum { M = 6, N = 16 };

/* Two rows by two columns, eight products each; unsigned codes are multiplied as such. */
INLINE int32x4_t multiply(int32x4_t sum, uint8x16_t codes, int8x16_t weights, const int is_signed)
{
    return is_signed ? vmmlaq_s32(sum, vreinterpretq_s8_u8(codes), weights) : vusmmlaq_s32(sum, codes, weights);
}

INLINE uint8x8_t codes_of_group(const uint8_t *a)
{
    uint32_t codes;
    memcpy(&codes, a, 4);
    return vcreate_u8(codes);
}

/* Rows in pairs, of an odd number the last one twice; a sum holds two rows of two columns. */
INLINE void run(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const int is_signed, const int raw)
{
    const int pairs = (rows + 1) / 2;
    const int8_t *w = nnf_conv2d_q8_weights(t->w, (size_t)(4 * vectors));
    int32x4_t sum[M / 2][N / 2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        int32x4_t bias = vld1q_s32(t->w + 4 * v);
        if (is_signed)
            bias = vaddq_s32(bias, vld1q_s32(t->w + 4 * (NNF_CONV2D_Q8_SIGNED * vectors + v)));
        NNF_UNROLL
        for (int p = 0; p < pairs; p++) {
            sum[p][2 * v] = vcombine_s32(vget_low_s32(bias), vget_low_s32(bias));
            sum[p][2 * v + 1] = vcombine_s32(vget_high_s32(bias), vget_high_s32(bias));
        }
    }
    const uint8_t *a[M];
    NNF_UNROLL
    for (int i = 0; i < 2 * pairs; i++)
        a[i] = t->a + (size_t)(i < rows ? i : rows - 1) * t->lda;
    const size_t groups = t->groups;
    size_t g = 0;
    for (; g + 2 <= groups; g += 2, w += 32 * vectors) {
        uint8x16_t x[M / 2];
        NNF_UNROLL
        for (int p = 0; p < pairs; p++)
            x[p] = vcombine_u8(vld1_u8(a[2 * p] + 4 * g), vld1_u8(a[2 * p + 1] + 4 * g));
        NNF_UNROLL
        for (int q = 0; q < 2 * vectors; q += 2) {
            const int8x16_t even = vld1q_s8(w + 16 * q), odd = vld1q_s8(w + 16 * (q + 1));
            NNF_UNROLL
            for (int p = 0; p < pairs; p++) {
                sum[p][q] = multiply(sum[p][q], x[p], even, is_signed);
                sum[p][q + 1] = multiply(sum[p][q + 1], x[p], odd, is_signed);
            }
            __asm__ volatile("" ::: "memory"); /* no weights are loaded before: there is no register for them */
        }
    }
    if (g < groups) {
        uint8x16_t x[M / 2];
        NNF_UNROLL
        for (int p = 0; p < pairs; p++)
            x[p] = vcombine_u8(codes_of_group(a[2 * p] + 4 * g), codes_of_group(a[2 * p + 1] + 4 * g));
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const int32x4_t words = vreinterpretq_s32_s8(vld1q_s8(w + 16 * v)), none = vdupq_n_s32(0);
            const int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(words, none));
            const int8x16_t high = vreinterpretq_s8_s32(vzip2q_s32(words, none));
            NNF_UNROLL
            for (int p = 0; p < pairs; p++) {
                sum[p][2 * v] = multiply(sum[p][2 * v], x[p], low, is_signed);
                sum[p][2 * v + 1] = multiply(sum[p][2 * v + 1], x[p], high, is_signed);
            }
        }
    }
    NNF_UNROLL
    for (int first = 0; first < vectors; first += 2) {
        int32x4_t part[M][2];
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < 2; v++) {
                const int64x2_t left = vreinterpretq_s64_s32(sum[i / 2][2 * (first + v)]);
                const int64x2_t right = vreinterpretq_s64_s32(sum[i / 2][2 * (first + v) + 1]);
                part[i][v] = vreinterpretq_s32_s64(i % 2 ? vzip2q_s64(left, right) : vzip1q_s64(left, right));
            }
        }
        if (raw)
            nnf_conv2d_store_s32(t, rows, first, 2, part);
        else
            nnf_conv2d_finish_tile(t, rows, vectors, first, 2, part);
    }
}

INLINE void run_rows(const nnf_conv2d_q8_tile *t, const int vectors, const int is_signed, const int raw)
{
    switch (t->rows) {
    case 1: run(t, 1, vectors, is_signed, raw); break;
    case 2: run(t, 2, vectors, is_signed, raw); break;
    case 3: run(t, 3, vectors, is_signed, raw); break;
    case 4: run(t, 4, vectors, is_signed, raw); break;
    case 5: run(t, 5, vectors, is_signed, raw); break;
    default: run(t, 6, vectors, is_signed, raw); break;
    }
}

static void qu8_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 4, 0, 0); }
static void qu8_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0, 0); }

void nnf_conv2d_qu8_qs8c_nhwc__neoni8mm_24x16k8(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, qu8_whole, qu8_half, 1);
}

static void qs8_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 4, 1, 0); }
static void qs8_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 1, 0); }

void nnf_conv2d_qs8_qs8c_nhwc__neoni8mm_24x16k8(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, qs8_whole, qs8_half, 1);
}

static void s32_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 4, 0, 1); }
static void s32_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0, 1); }

void nnf_conv2d_s32_qu8_qs8c_nhwc__neoni8mm_24x16k8(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, s32_whole, s32_half, sizeof(int32_t));
}
