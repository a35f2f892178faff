#include "lstm.h"

#include "lstm/lstm_activate_neon.h"
#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

enum { LANES = 4, QUARTERS = NNF_LSTM_N / LANES, MOST = 4 * QUARTERS };

#define STEP(value, lane)                                                                                              \
    do {                                                                                                               \
        NNF_UNROLL                                                                                                     \
        for (int i = 0; i < parts; i++)                                                                                \
            sum[i] = vfmaq_laneq_f32(sum[i], vld1q_f32(w + i * LANES), value, lane);                                   \
        w += parts * LANES;                                                                                            \
    } while (0)

static inline __attribute__((always_inline)) const float *accumulate(const int parts, float32x4_t *sum, const float *x,
                                                                     size_t count, const float *w)
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

/* Units 4 quarter .. of the tile from their sums, which lie four vectors apart. */
static inline __attribute__((always_inline)) void finish(const int gates, size_t quarter, const nnf_lstm_form *form,
                                                         const nnf_lstm_tile *tile, const float32x4_t *sums)
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
    const float32x4_t kept = nnf_logistic_neon(sum[forget]);
    const float32x4_t entered = gates == 4 ? nnf_logistic_neon(sum[0]) : vsubq_f32(vdupq_n_f32(1.0f), kept);
    c = vfmaq_f32(vmulq_f32(entered, lstm_activate(form->activation, sum[forget + 1])), kept, c);
    c = vminq_f32(vdupq_n_f32(form->clip), vmaxq_f32(vdupq_n_f32(-form->clip), c)); /* both keep a NaN */
    if (form->peephole)
        sum[forget + 2] = vfmaq_f32(sum[forget + 2], c, vld1q_f32(peephole + (forget + 1) * NNF_LSTM_N));
    nnf_store_f32_neon(tile->c_out + at, c, units);
    const float32x4_t y = vmulq_f32(nnf_logistic_neon(sum[forget + 2]), lstm_activate(form->activation, c));
    nnf_store_f32_neon(tile->y + at, y, units);
}

static inline __attribute__((always_inline)) void cell(const int gates, const nnf_lstm_form *form,
                                                       const nnf_lstm_tile *tile)
{
    const int row = gates * NNF_LSTM_N, parts = row / LANES;
    const float *start = tile->start ? tile->start : tile->packed, *peephole = tile->packed + row;
    float32x4_t sum[MOST];
    NNF_UNROLL
    for (int i = 0; i < parts; i++)
        sum[i] = vld1q_f32(start + i * LANES);
    const float *w = accumulate(parts, sum, tile->x, tile->k_x, peephole + (form->peephole ? row - NNF_LSTM_N : 0));
    accumulate(parts, sum, tile->h, tile->k_h, w);
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
        cell(4, form, tile);
    else
        cell(3, form, tile);
}
