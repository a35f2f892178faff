#include "conv2d.h"

#include <arm_neon.h>
#include <string.h>

#include "conv2d_requantize_neon.h"
#include "nnf/unroll.h"

enum { M = 8, N = 8, GROUPS = 4 };

/* One group of depth: lane s of each row's four groups times one row of the panel. */
#define STEP(s)                                                                                                        \
    do {                                                                                                               \
        const int c = (s) % chains;                                                                                    \
        NNF_UNROLL                                                                                                     \
        for (int v = 0; v < vectors; v++) {                                                                            \
            const int8x16_t weights = vld1q_s8(w + 16 * ((s) * vectors + v));                                          \
            NNF_UNROLL                                                                                                 \
            for (int i = 0; i < rows; i++)                                                                             \
                sum[c][i][v] = vdotq_laneq_s32(sum[c][i][v], weights, x[i], s);                                        \
        }                                                                                                              \
    } while (0)

/* The dot product takes signed bytes only: signed codes as they are, unsigned ones less 128 by the flip. */
INLINE void run(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const uint8_t flip, const int raw)
{
    const int8_t *w = nnf_conv2d_q8_weights(t->w, (size_t)(4 * vectors));
    const uint8x16_t top = vdupq_n_u8(flip);
    /* With few rows one sum per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows <= 3 ? 2 : 1;
    int32x4_t sum[4][M][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[0][i][v] = vaddq_s32(vld1q_s32(t->w + 4 * v),
                                     vld1q_s32(t->w + 4 * (NNF_CONV2D_Q8_SIGNED * vectors + v)));
            NNF_UNROLL
            for (int c = 1; c < chains; c++)
                sum[c][i][v] = vdupq_n_s32(0);
        }
    }
    const uint8_t *a[M];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        a[i] = t->a + (size_t)i * t->lda;
    size_t g = 0;
    for (; g + GROUPS <= t->groups; g += GROUPS, w += GROUPS * 16 * vectors) {
        int8x16_t x[M];
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            x[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(a[i] + 4 * g), top));
        STEP(0);
        STEP(1);
        STEP(2);
        STEP(3);
    }
    for (; g < t->groups; g++, w += 16 * vectors) {
        int8x16_t x[M];
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            uint32_t codes;
            memcpy(&codes, a[i] + 4 * g, 4);
            x[i] = vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_u32(vdupq_n_u32(codes)), top));
        }
        STEP(0);
    }
    NNF_UNROLL
    for (int c = 1; c < chains; c++) {
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                sum[0][i][v] = vaddq_s32(sum[0][i][v], sum[c][i][v]);
        }
    }
    if (raw)
        nnf_conv2d_store_s32(t, rows, 0, vectors, sum[0]);
    else
        nnf_conv2d_finish_tile(t, rows, vectors, 0, vectors, sum[0]);
}

INLINE void run_rows(const nnf_conv2d_q8_tile *t, const int vectors, const uint8_t flip, const int raw)
{
    switch (t->rows) {
    case 1: run(t, 1, vectors, flip, raw); break;
    case 2: run(t, 2, vectors, flip, raw); break;
    case 3: run(t, 3, vectors, flip, raw); break;
    case 4: run(t, 4, vectors, flip, raw); break;
    case 5: run(t, 5, vectors, flip, raw); break;
    case 6: run(t, 6, vectors, flip, raw); break;
    case 7: run(t, 7, vectors, flip, raw); break;
    default: run(t, 8, vectors, flip, raw); break;
    }
}

static void qu8_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0x80, 0); }
static void qu8_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 1, 0x80, 0); }

void nnf_conv2d_qu8_qs8c_nhwc__neondot_24x8k4(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, qu8_whole, qu8_half, 1);
}

static void qs8_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0, 0); }
static void qs8_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 1, 0, 0); }

void nnf_conv2d_qs8_qs8c_nhwc__neondot_24x8k4(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, qs8_whole, qs8_half, 1);
}

static void s32_whole(const nnf_conv2d_q8_tile *t) { run_rows(t, 2, 0x80, 1); }
static void s32_half(const nnf_conv2d_q8_tile *t) { run_rows(t, 1, 0x80, 1); }

void nnf_conv2d_s32_qu8_qs8c_nhwc__neondot_24x8k4(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_q8_strips(t, M, N, s32_whole, s32_half, sizeof(int32_t));
}
