#include "conv2d.h"

#include <arm_neon.h>
#include <string.h>

#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

enum { M = 8, N = 8, STEPS = 4 };

/* One step of the depth: lane s of each row's four inputs times one row of the panel. */
#define STEP(s)                                                                                                        \
    do {                                                                                                               \
        const int c = (s) % chains;                                                                                    \
        NNF_UNROLL                                                                                                     \
        for (int v = 0; v < vectors; v++) {                                                                            \
            const float32x4_t weights = vld1q_f32(w + 4 * ((s) * vectors + v));                                        \
            NNF_UNROLL                                                                                                 \
            for (int i = 0; i < rows; i++)                                                                             \
                sum[c][i][v] = vfmaq_laneq_f32(sum[c][i][v], weights, x[i], s);                                        \
        }                                                                                                              \
    } while (0)

INLINE void run(const nnf_conv2d_f32_tile *t, const int rows, const int vectors)
{
    /* With few rows one sum per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows <= 3 ? 2 : 1;
    float32x4_t sum[4][M][2];
    const float *w = t->w;
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[0][i][v] = vld1q_f32(w + 4 * v);
            NNF_UNROLL
            for (int c = 1; c < chains; c++)
                sum[c][i][v] = vdupq_n_f32(0);
        }
    }
    w += 4 * vectors;
    for (size_t tap = 0; tap < t->taps; tap++) {
        const float *a[M];
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            a[i] = t->a[tap * M + (size_t)i] + t->first;
        size_t k = 0;
        for (; k + STEPS <= t->depth; k += STEPS, w += STEPS * 4 * vectors) {
            float32x4_t x[M];
            NNF_UNROLL
            for (int i = 0; i < rows; i++)
                x[i] = vld1q_f32(a[i] + k);
            STEP(0);
            STEP(1);
            STEP(2);
            STEP(3);
        }
        for (; k < t->depth; k++, w += 4 * vectors) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const float32x4_t weights = vld1q_f32(w + 4 * v);
                NNF_UNROLL
                for (int i = 0; i < rows; i++)
                    sum[0][i][v] = vfmaq_n_f32(sum[0][i][v], weights, a[i][k]);
            }
        }
    }
    const float32x4_t lo = vdupq_n_f32(t->lo), hi = vdupq_n_f32(t->hi);
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            float32x4_t y = sum[0][i][v];
            if (chains == 2)
                y = vaddq_f32(y, sum[1][i][v]);
            if (chains == 4)
                y = vaddq_f32(vaddq_f32(y, sum[1][i][v]), vaddq_f32(sum[2][i][v], sum[3][i][v]));
            y = vminq_f32(hi, vmaxq_f32(lo, y)); /* both keep a NaN */
            const size_t first = (size_t)(4 * v);
            if (first < t->columns)
                nnf_store_f32_neon(t->c + (size_t)i * t->ldc + first, y, t->columns - first);
        }
    }
}

/* Calls f(t, rows, ...) with constants. */
#define EACH_SIZE(f, t, ...)                                                                                           \
    switch ((t)->rows) {                                                                                               \
    case 1: f(t, 1, __VA_ARGS__); break;                                                                               \
    case 2: f(t, 2, __VA_ARGS__); break;                                                                               \
    case 3: f(t, 3, __VA_ARGS__); break;                                                                               \
    case 4: f(t, 4, __VA_ARGS__); break;                                                                               \
    case 5: f(t, 5, __VA_ARGS__); break;                                                                               \
    case 6: f(t, 6, __VA_ARGS__); break;                                                                               \
    case 7: f(t, 7, __VA_ARGS__); break;                                                                               \
    default: f(t, 8, __VA_ARGS__); break;                                                                              \
    }

void nnf_conv2d_f32_nhwc__neon_8x8(const nnf_conv2d_f32_tile *t)
{
    for (size_t j = 0; j < t->columns; j += N) {
        nnf_conv2d_f32_tile panel = *t;
        panel.columns = t->columns - j < N ? t->columns - j : N;
        panel.w += j * (t->taps * t->depth + 1);
        panel.c += j;
        if (nnf_conv2d_width(panel.columns, N) == N)
            EACH_SIZE(run, &panel, 2)
        else
            EACH_SIZE(run, &panel, 1)
    }
}

void nnf_conv2d_gather_qu8_nhwc__neon_16(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip, uint8_t *to,
                                         size_t ldt, uint32_t *sums)
{
    const uint8x16_t flips = vdupq_n_u8(flip);
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        uint32x4_t sum = vdupq_n_u32(0), more = sum; /* two, as a sum waits for its own additions */
        size_t k = 0;
        for (; k + 32 <= n; k += 32) {
            const uint8x16_t first = veorq_u8(vld1q_u8(x + k), flips), second = veorq_u8(vld1q_u8(x + k + 16), flips);
            vst1q_u8(to + k, first);
            vst1q_u8(to + k + 16, second);
            sum = vpadalq_u16(sum, vpaddlq_u8(first));
            more = vpadalq_u16(more, vpaddlq_u8(second));
        }
        sum = vaddq_u32(sum, more);
        if (k + 16 <= n) {
            const uint8x16_t codes = veorq_u8(vld1q_u8(x + k), flips);
            vst1q_u8(to + k, codes);
            sum = vpadalq_u16(sum, vpaddlq_u8(codes));
            k += 16;
        }
        if (k + 8 <= n) {
            const uint8x8_t codes = veor_u8(vld1_u8(x + k), vget_low_u8(flips));
            vst1_u8(to + k, codes);
            sum = vpadalq_u16(sum, vcombine_u16(vpaddl_u8(codes), vdup_n_u16(0)));
            k += 8;
        }
        uint32_t total = vaddvq_u32(sum);
        for (; k < n; k++) {
            to[k] = x[k] ^ flip;
            total += to[k];
        }
        if (sums)
            sums[i] += total;
    }
}
