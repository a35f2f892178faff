#include "conv2d.h"

#include <arm_neon.h>
#include <string.h>

#include "conv2d_requantize_neon.h"
#include "nnf/unroll.h"

/* Without dot products, signed bytes are multiplied to 16 bits and added there, two by two: the products of an input of
 * each of two groups, which fit but for two of -128 times -128 (`mild` panels have no such weight), and then those of
 * neighbouring inputs, in 32 bits. So a vector of sums has two parts of each of two columns. */
enum { M = 4, N = 8 };

/* Signed codes of two groups; unsigned ones less 128, as in conv2d_neondot.c. */
INLINE int32x2_t two_groups(const uint8_t *a, uint8_t flip)
{
    return vreinterpret_s32_u8(veor_u8(vld1_u8(a), vdup_n_u8(flip)));
}

INLINE int32x2_t one_group(const uint8_t *a, uint8_t flip)
{
    uint32_t codes;
    memcpy(&codes, a, 4);
    return vreinterpret_s32_u8(veor_u8(vcreate_u8(codes), vdup_n_u8(flip)));
}

/* A group of four columns. */
INLINE void add_group(int32x4_t sum[2], int8x16_t x, int8x16_t w)
{
    sum[0] = vpadalq_s16(sum[0], vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    sum[1] = vpadalq_s16(sum[1], vmull_high_s8(x, w));
}

/* Two groups of four columns, added in 16 bits. */
INLINE void add_pair(int32x4_t sum[2], int8x16_t x0, int8x16_t x1, int8x16_t w0, int8x16_t w1)
{
    const int16x8_t low = vmull_s8(vget_low_s8(x0), vget_low_s8(w0)), high = vmull_high_s8(x0, w0);
    sum[0] = vpadalq_s16(sum[0], vmlal_s8(low, vget_low_s8(x1), vget_low_s8(w1)));
    sum[1] = vpadalq_s16(sum[1], vmlal_high_s8(high, x1, w1));
}

INLINE void add_products(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const uint8_t flip,
                         const int mild, int32x4_t sum[M][2][2])
{
    const int8_t *w = nnf_conv2d_q8_weights(t->w, (size_t)(4 * vectors));
    const size_t groups = t->groups;
    const uint8_t *a[M];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        a[i] = t->a + (size_t)i * t->lda;
    size_t g = 0;
    for (; g + 2 <= groups; g += 2, w += 32 * vectors) {
        int8x16_t weights[2][2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            weights[0][v] = vld1q_s8(w + 16 * v);
            weights[1][v] = vld1q_s8(w + 16 * (vectors + v));
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const int32x2_t x = two_groups(a[i] + 4 * g, flip);
            const int8x16_t x0 = vreinterpretq_s8_s32(vdupq_lane_s32(x, 0));
            const int8x16_t x1 = vreinterpretq_s8_s32(vdupq_lane_s32(x, 1));
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                if (mild) {
                    add_pair(sum[i][v], x0, x1, weights[0][v], weights[1][v]);
                } else {
                    add_group(sum[i][v], x0, weights[0][v]);
                    add_group(sum[i][v], x1, weights[1][v]);
                }
            }
        }
    }
    if (g < groups) {
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const int8x16_t x = vreinterpretq_s8_s32(vdupq_lane_s32(one_group(a[i] + 4 * g, flip), 0));
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                add_group(sum[i][v], x, vld1q_s8(w + 16 * v));
        }
    }
}

INLINE void run(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const uint8_t flip, const int raw)
{
    int32x4_t sum[M][2][2], whole[M][2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const int32x4_t none = vdupq_n_s32(0);
        const int32x4_t start = vaddq_s32(vld1q_s32(t->w + 4 * v),
                                          vld1q_s32(t->w + 4 * (NNF_CONV2D_Q8_SIGNED * vectors + v)));
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            sum[i][v][0] = vzip1q_s32(start, none);
            sum[i][v][1] = vzip2q_s32(start, none);
        }
    }
    if (*nnf_conv2d_q8_mild(t->w, (size_t)(4 * vectors)))
        add_products(t, rows, vectors, flip, 1, sum);
    else
        add_products(t, rows, vectors, flip, 0, sum);
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            whole[i][v] = vpaddq_s32(sum[i][v][0], sum[i][v][1]);
    }
    if (raw)
        nnf_conv2d_store_s32(t, rows, 0, vectors, whole);
    else
        nnf_conv2d_finish_tile(t, rows, vectors, 0, vectors, whole);
}

INLINE void run_rows(const nnf_conv2d_q8_tile *t, const int vectors, const uint8_t flip, const int raw)
{
    switch (t->rows) {
    case 1: run(t, 1, vectors, flip, raw); break;
    case 2: run(t, 2, vectors, flip, raw); break;
    case 3: run(t, 3, vectors, flip, raw); break;
    default: run(t, 4, vectors, flip, raw); break;
    }
}

static void qu8_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0x80, 0); }
static void qu8_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 1, 0x80, 0); }

void nnf_conv2d_qu8_qs8c_nhwc__neon_24x8k4(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, qu8_whole, qu8_half, 1);
}

static void s32_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0x80, 1); }
static void s32_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 1, 0x80, 1); }

void nnf_conv2d_s32_qu8_qs8c_nhwc__neon_24x8k4(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, s32_whole, s32_half, sizeof(int32_t));
}

static void qs8_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0, 0); }
static void qs8_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 1, 0, 0); }

void nnf_conv2d_qs8_qs8c_nhwc__neon_24x8k4(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, qs8_whole, qs8_half, 1);
}
