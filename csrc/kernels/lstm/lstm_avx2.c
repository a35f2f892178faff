#include "lstm.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "nnf/partial_avx2.h"
#include "nnf/simd/f64_avx2.h"
#include "lstm/lstm_activate_simd.h"
#include "nnf/unroll.h"

enum { MOST = 4 * NNF_LSTM_N / LANES };

/* 8 weights. half: they are halves. */
INLINE __m256 weights_at(const bool half, const void *w, size_t at)
{
    if (half)
        return _mm256_cvtph_ps(_mm_load_si128((const __m128i *)((const uint16_t *)w + at)));
    return _mm256_load_ps((const float *)w + at);
}

/* Adds `count` rows of weights. */
INLINE void accumulate(const bool half, size_t parts, __m256 *sum, const float *x, size_t count, const void *w)
{
    for (size_t k = 0; k < count; k++) {
        const __m256 value = _mm256_set1_ps(x[k]);
        for (size_t i = 0; i < parts; i++)
            sum[i] = _mm256_fmadd_ps(value, weights_at(half, w, (k * parts + i) * LANES), sum[i]);
    }
}

/* Units 8 half .. of the tile from their sums, which lie two vectors apart. */
INLINE void finish(int gates, int half, const nnf_lstm_form *form, const nnf_lstm_tile *tile, const __m256 *sums)
{
    const int forget = gates - 3, at = half * LANES;
    const float *peephole = tile->packed + gates * NNF_LSTM_N + at;
    const ptrdiff_t live = (ptrdiff_t)tile->units - at;
    __m256 sum[4];
    for (int g = 0; g < gates; g++)
        sum[g] = sums[2 * g + half];
    __m256 c = _mm256_maskload_ps(tile->c_in + at, nnf_lanes_avx2(live));
    if (form->peephole) {
        for (int g = 0; g <= forget; g++)
            sum[g] = _mm256_fmadd_ps(c, _mm256_load_ps(peephole + g * NNF_LSTM_N), sum[g]);
    }
    const __m256 kept = logistic(sum[forget]);
    const __m256 entered = logistic(gates == 4 ? sum[0] : _mm256_sub_ps(_mm256_setzero_ps(), sum[forget]));
    c = _mm256_fmadd_ps(kept, c, _mm256_mul_ps(entered, lstm_activate(form->activation, sum[forget + 1])));
    /* min/max return the second operand when either is NaN. */
    c = _mm256_min_ps(_mm256_set1_ps(form->clip), _mm256_max_ps(_mm256_set1_ps(-form->clip), c));
    if (form->peephole)
        sum[forget + 2] = _mm256_fmadd_ps(c, _mm256_load_ps(peephole + (forget + 1) * NNF_LSTM_N), sum[forget + 2]);
    nnf_store_f32_avx2(tile->c_out + at, live, c);
    const __m256 y = _mm256_mul_ps(logistic(sum[forget + 2]), lstm_activate(form->activation, c));
    nnf_store_f32_avx2(tile->y + at, live, y);
}

INLINE void cell(const bool half, int gates, const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    const int row = gates * NNF_LSTM_N, parts = row / LANES;
    const float *start = tile->start ? tile->start : tile->packed, *peephole = tile->packed + row;
    __m256 sum[MOST];
    for (int i = 0; i < parts; i++)
        sum[i] = _mm256_loadu_ps(start + i * LANES);
    const char *w = (const char *)(peephole + (form->peephole ? row - NNF_LSTM_N : 0));
    accumulate(half, (size_t)parts, sum, tile->x, tile->k_x, w);
    accumulate(half, (size_t)parts, sum, tile->h, tile->k_h, w + tile->k_x * (size_t)row * (half ? 2 : 4));
    finish(gates, 0, form, tile, sum);
    if (tile->units > LANES)
        finish(gates, 1, form, tile, sum);
}

void nnf_lstm_f32_tile__avx2_1x16(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    if (form->gates == 4)
        cell(false, 4, form, tile);
    else
        cell(false, 3, form, tile);
}

void nnf_lstm_f16_tile__avx2_1x16(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    if (form->gates == 4)
        cell(true, 4, form, tile);
    else
        cell(true, 3, form, tile);
}
