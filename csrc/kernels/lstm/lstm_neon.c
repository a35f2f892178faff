#include "lstm.h"

#include <stdbool.h>
#include <stdint.h>

#include "nnf/simd/f64_neon.h"
#include "lstm/lstm_activate_simd.h"
#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

enum { QUARTERS = NNF_LSTM_N / LANES, MOST = 4 * QUARTERS };

#define STEP(value, lane)                                                                                              \
    do {                                                                                                               \
        NNF_UNROLL                                                                                                     \
        for (int i = 0; i < parts; i++)                                                                                \
            sum[i] = vfmaq_laneq_f32(sum[i], weights_at(half, w, at + (size_t)i * LANES), value, lane);                \
        at += (size_t)parts * LANES;                                                                                   \
    } while (0)

/* 4 weights. half: they are halves. */
INLINE float32x4_t weights_at(const bool half, const void *w, size_t at)
{
    if (half)
        return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)w + at)));
    return vld1q_f32((const float *)w + at);
}

/* Adds `count` rows of weights. */
INLINE void accumulate(const bool half, const int parts, float32x4_t *sum, const float *x, size_t count, const void *w)
{
    size_t k = 0, at = 0;
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
}

/* Units 4 quarter .. of the tile from their sums, which lie four vectors apart. */
INLINE void finish(const int gates, size_t quarter, const nnf_lstm_form *form, const nnf_lstm_tile *tile,
                   const float32x4_t *sums)
{
    const int forget = gates - 3;
    const size_t at = quarter * LANES, units = tile->units - at;
    const float *peephole = tile->packed + gates * NNF_LSTM_N + at;
    float32x4_t sum[4];
    NNF_UNROLL
    for (int g = 0; g < gates; g++)
        sum[g] = sums[QUARTERS * (size_t)g + quarter];
    float32x4_t c = nnf_load_f32_neon(tile->c_in + at, units);
    if (form->peephole) {
        NNF_UNROLL
        for (int g = 0; g <= forget; g++)
            sum[g] = vfmaq_f32(sum[g], c, vld1q_f32(peephole + g * NNF_LSTM_N));
    }
    const float32x4_t kept = logistic(sum[forget]);
    const float32x4_t entered = logistic(gates == 4 ? sum[0] : vnegq_f32(sum[forget]));
    c = vfmaq_f32(vmulq_f32(entered, lstm_activate(form->activation, sum[forget + 1])), kept, c);
    c = vminq_f32(vdupq_n_f32(form->clip), vmaxq_f32(vdupq_n_f32(-form->clip), c)); /* both keep a NaN */
    if (form->peephole)
        sum[forget + 2] = vfmaq_f32(sum[forget + 2], c, vld1q_f32(peephole + (forget + 1) * NNF_LSTM_N));
    nnf_store_f32_neon(tile->c_out + at, c, units);
    const float32x4_t y = vmulq_f32(logistic(sum[forget + 2]), lstm_activate(form->activation, c));
    nnf_store_f32_neon(tile->y + at, y, units);
}

INLINE void cell(const bool half, const int gates, const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    const int row = gates * NNF_LSTM_N, parts = row / LANES;
    const float *start = tile->start ? tile->start : tile->packed, *peephole = tile->packed + row;
    float32x4_t sum[MOST];
    NNF_UNROLL
    for (int i = 0; i < parts; i++)
        sum[i] = vld1q_f32(start + i * LANES);
    const char *w = (const char *)(peephole + (form->peephole ? row - NNF_LSTM_N : 0));
    accumulate(half, parts, sum, tile->x, tile->k_x, w);
    accumulate(half, parts, sum, tile->h, tile->k_h, w + tile->k_x * (size_t)row * (half ? 2 : 4));
    float32x4_t done[MOST]; /* in memory, so that the quarters can be a loop and the sums above stay in registers */
    NNF_UNROLL
    for (int i = 0; i < parts; i++)
        done[i] = sum[i];
    for (size_t quarter = 0; quarter * LANES < tile->units; quarter++)
        finish(gates, quarter, form, tile, done);
}

void nnf_lstm_f32_tile__neon_1x16(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    if (form->gates == 4)
        cell(false, 4, form, tile);
    else
        cell(false, 3, form, tile);
}

void nnf_lstm_f16_tile__neon_1x16(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    if (form->gates == 4)
        cell(true, 4, form, tile);
    else
        cell(true, 3, form, tile);
}
