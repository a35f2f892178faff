#include "lstm.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "nnf/simd/f64_avx512.h"
#include "lstm/lstm_activate_simd.h"
#include "nnf/unroll.h"

/* 16 weights. half: they are halves. */
INLINE __m512 weights_at(const bool half, const void *w, size_t at)
{
    if (half)
        return _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)((const uint16_t *)w + at)));
    return _mm512_load_ps((const float *)w + at);
}

/* Adds `count` rows of weights. Two sets of accumulators hide the latency of the multiply-add. */
INLINE void accumulate(const bool half, int gates, __m512 *sum, const float *x, size_t count, const void *w)
{
    const size_t row = (size_t)gates * NNF_LSTM_N;
    size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        for (size_t d = 0; d < 2; d++) {
            const __m512 value = _mm512_set1_ps(x[k + d]);
            for (size_t g = 0; g < (size_t)gates; g++)
                sum[4 * d + g] = _mm512_fmadd_ps(value, weights_at(half, w, (k + d) * row + g * NNF_LSTM_N),
                                                 sum[4 * d + g]);
        }
    }
    if (k < count) {
        const __m512 value = _mm512_set1_ps(x[k]);
        for (size_t g = 0; g < (size_t)gates; g++)
            sum[g] = _mm512_fmadd_ps(value, weights_at(half, w, k * row + g * NNF_LSTM_N), sum[g]);
    }
}

INLINE void cell(const bool half, int gates, const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    const int row = gates * NNF_LSTM_N, forget = gates - 3;
    const __mmask16 live = (__mmask16)((1u << tile->units) - 1);
    const float *start = tile->start ? tile->start : tile->packed, *peephole = tile->packed + row;
    __m512 sum[8];
    for (int g = 0; g < gates; g++) {
        sum[g] = _mm512_loadu_ps(start + g * NNF_LSTM_N);
        sum[4 + g] = _mm512_setzero_ps();
    }
    const char *w = (const char *)(peephole + (form->peephole ? row - NNF_LSTM_N : 0));
    accumulate(half, gates, sum, tile->x, tile->k_x, w);
    accumulate(half, gates, sum, tile->h, tile->k_h, w + tile->k_x * (size_t)row * (half ? 2 : 4));
    for (int g = 0; g < gates; g++)
        sum[g] = _mm512_add_ps(sum[g], sum[4 + g]);
    __m512 c = _mm512_maskz_loadu_ps(live, tile->c_in);
    if (form->peephole) {
        for (int g = 0; g <= forget; g++)
            sum[g] = _mm512_fmadd_ps(c, _mm512_load_ps(peephole + g * NNF_LSTM_N), sum[g]);
    }
    const __m512 kept = logistic(sum[forget]);
    const __m512 entered = logistic(gates == 4 ? sum[0] : _mm512_sub_ps(_mm512_setzero_ps(), sum[forget]));
    c = _mm512_fmadd_ps(kept, c, _mm512_mul_ps(entered, lstm_activate(form->activation, sum[forget + 1])));
    /* min/max return the second operand when either is NaN. */
    c = _mm512_min_ps(_mm512_set1_ps(form->clip), _mm512_max_ps(_mm512_set1_ps(-form->clip), c));
    if (form->peephole)
        sum[forget + 2] = _mm512_fmadd_ps(c, _mm512_load_ps(peephole + (forget + 1) * NNF_LSTM_N), sum[forget + 2]);
    _mm512_mask_storeu_ps(tile->c_out, live, c);
    const __m512 y = _mm512_mul_ps(logistic(sum[forget + 2]), lstm_activate(form->activation, c));
    _mm512_mask_storeu_ps(tile->y, live, y);
}

void nnf_lstm_f32_tile__avx512_1x16(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    if (form->gates == 4)
        cell(false, 4, form, tile);
    else
        cell(false, 3, form, tile);
}

void nnf_lstm_f16_tile__avx512_1x16(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    if (form->gates == 4)
        cell(true, 4, form, tile);
    else
        cell(true, 3, form, tile);
}
