#include "lstm_q8.h"

#include <immintrin.h>
#include <string.h>

#include "lstm_q8/lstm_q8_normal.h"
#include "nnf/requantize_avx2.h"
#include "nnf/word16_avx2.h"

enum { LANES = 16, GATE_BITS = NNF_GATE_BITS };

/* Words i.. of x, zeros from n on. */
static inline __m256i words_at(const int16_t *x, size_t i, size_t n)
{
    if (i + LANES <= n)
        return _mm256_loadu_si256((const __m256i *)(x + i));
    int16_t part[LANES] = {0};
    memcpy(part, x + i, 2 * (n - i));
    return _mm256_loadu_si256((const __m256i *)part);
}

static inline void put_words(int16_t *y, size_t i, size_t n, __m256i words)
{
    if (i + LANES <= n) {
        _mm256_storeu_si256((__m256i *)(y + i), words);
    } else {
        int16_t part[LANES];
        _mm256_storeu_si256((__m256i *)part, words);
        memcpy(y + i, part, 2 * (n - i));
    }
}

/* 32-bit values as two vectors of 8: lanes 0-3 and 8-11, lanes 4-7 and 12-15, as packs puts them together again. */
typedef struct wide {
    __m256i low, high;
} wide;

static inline wide widened(__m256i words)
{
    return (wide){_mm256_srai_epi32(_mm256_unpacklo_epi16(words, words), 16),
                  _mm256_srai_epi32(_mm256_unpackhi_epi16(words, words), 16)};
}

static inline wide products(__m256i a, __m256i b)
{
    const __m256i low = _mm256_mullo_epi16(a, b), high = _mm256_mulhi_epi16(a, b);
    return (wide){_mm256_unpacklo_epi16(low, high), _mm256_unpackhi_epi16(low, high)};
}

static inline wide sums_at(const int32_t *x, size_t i, size_t n)
{
    int32_t part[LANES] = {0};
    if (i + LANES > n) {
        memcpy(part, x + i, 4 * (n - i));
        x = part;
        i = 0;
    }
    const __m256i first = _mm256_loadu_si256((const __m256i *)(x + i));
    const __m256i second = _mm256_loadu_si256((const __m256i *)(x + i + 8));
    return (wide){_mm256_permute2x128_si256(first, second, 0x20), _mm256_permute2x128_si256(first, second, 0x31)};
}

static inline __m256i scaled(__m256i x, nnf_fixed a)
{
    const int left = a.exponent > 0 ? a.exponent : 0, right = a.exponent > 0 ? 0 : -a.exponent;
    return nnf_mbqm_avx2(x, _mm256_set1_epi32(a.multiplier), _mm256_set1_epi32(left), _mm256_set1_epi32(right));
}

/* x * a + to, where `to` is near enough to zero for words: what lies beyond 2^20 saturates them in any case. */
static inline __m256i scaled_onto(__m256i x, nnf_fixed a, __m256i to)
{
    const __m256i limit = _mm256_set1_epi32(1 << 20);
    x = scaled(x, a);
    x = _mm256_min_epi32(limit, _mm256_max_epi32(_mm256_sub_epi32(_mm256_setzero_si256(), limit), x));
    return _mm256_add_epi32(x, to);
}

/* clamp16(x * a + y) */
static inline __m256i scaled_words(wide x, nnf_fixed a, __m256i y)
{
    const wide to = widened(y);
    return _mm256_packs_epi32(scaled_onto(x.low, a, to.low), scaled_onto(x.high, a, to.high));
}

void nnf_lstm_gate_qs16_flat__avx2_16(size_t n, const int32_t *x, nnf_fixed a, const int32_t *h, nnf_fixed b,
                                      int16_t *y)
{
    for (size_t i = 0; i < n; i += LANES) {
        __m256i words = scaled_words(sums_at(x, i, n), a, _mm256_setzero_si256());
        if (h)
            words = scaled_words(sums_at(h, i, n), b, words);
        put_words(y, i, n, words);
    }
}

void nnf_lstm_peephole_qs16_flat__avx2_16(size_t n, const int16_t *w, const int16_t *cell, nnf_fixed a, int16_t *y)
{
    for (size_t i = 0; i < n; i += LANES)
        put_words(y, i, n, scaled_words(products(words_at(w, i, n), words_at(cell, i, n)), a, words_at(y, i, n)));
}

/* Adds lanes of 32 bits to lanes of 64; squares have no sign, a pair of the least words makes 2^31. */
static inline __m256i onto_sums(__m256i sums, __m256i x)
{
    sums = _mm256_add_epi64(sums, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(x)));
    return _mm256_add_epi64(sums, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(x, 1)));
}

static inline __m256i onto_squares(__m256i sums, __m256i x)
{
    sums = _mm256_add_epi64(sums, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(x)));
    return _mm256_add_epi64(sums, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(x, 1)));
}

static inline int64_t total(__m256i sums)
{
    int64_t part[4];
    _mm256_storeu_si256((__m256i *)part, sums);
    return part[0] + part[1] + part[2] + part[3];
}

/* Normalised, weighted and shifted words with fraction bits -> gate words of 32 bits. */
static inline __m256i normalised(const nnf_normal *normal, __m256i word, __m256i w, __m256i bias)
{
    word = _mm256_sub_epi32(_mm256_slli_epi32(word, NNF_NORMAL_BITS), _mm256_set1_epi32(normal->mean));
    word = _mm256_add_epi32(_mm256_mullo_epi32(scaled(word, normal->root), w), bias);
    /* To nearest, ties away from zero, by the magnitude, which as an unsigned number always fits. */
    const __m256i half = _mm256_set1_epi32(1 << (NNF_NORMAL_BITS - 1));
    const __m256i size = _mm256_srli_epi32(_mm256_add_epi32(_mm256_abs_epi32(word), half), NNF_NORMAL_BITS);
    return scaled(_mm256_sign_epi32(size, word), normal->last);
}

void nnf_lstm_norm_qs16_rows__avx2_16(size_t n, const int16_t *w, const int32_t *bias, nnf_fixed a, int16_t *y)
{
    __m256i sums = _mm256_setzero_si256(), squares = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i += LANES) {
        const __m256i words = words_at(y, i, n);
        sums = onto_sums(sums, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
        squares = onto_squares(squares, _mm256_madd_epi16(words, words));
    }
    const nnf_normal normal = nnf_normal_of(n, total(sums), total(squares), a);
    for (size_t i = 0; i < n; i += LANES) {
        const wide word = widened(words_at(y, i, n)), weight = widened(words_at(w, i, n)), shift = sums_at(bias, i, n);
        put_words(y, i, n, _mm256_packs_epi32(normalised(&normal, word.low, weight.low, shift.low),
                                              normalised(&normal, word.high, weight.high, shift.high)));
    }
}

void nnf_lstm_update_qs16_flat__avx2_16(size_t n, const nnf_lstm_update *u)
{
    const __m256i lo = _mm256_set1_epi16((int16_t)u->lo), hi = _mm256_set1_epi16((int16_t)u->hi);
    for (size_t i = 0; i < n; i += LANES) {
        const __m256i forget = nnf_logistic16_avx2(words_at(u->forget, i, n), GATE_BITS);
        const __m256i candidate = nnf_tanh16_avx2(words_at(u->candidate, i, n), GATE_BITS);
        const __m256i enter = u->enter ? nnf_logistic16_avx2(words_at(u->enter, i, n), GATE_BITS)
                                       : _mm256_sub_epi16(_mm256_set1_epi16(INT16_MAX), forget);
        const wide kept = products(forget, words_at(u->c_in, i, n)), entered = products(enter, candidate);
        const __m256i low = _mm256_add_epi32(nnf_shrink_avx2(kept.low, 15), nnf_shrink_avx2(entered.low, 30 + u->k));
        const __m256i high = _mm256_add_epi32(nnf_shrink_avx2(kept.high, 15), nnf_shrink_avx2(entered.high, 30 + u->k));
        const __m256i cell = _mm256_packs_epi32(low, high);
        put_words(u->c_out, i, n, _mm256_min_epi16(hi, _mm256_max_epi16(lo, cell)));
    }
}

/* 16 words as int8 codes, saturated, each with the bits of `flip` turned over. */
static inline void put_codes(uint8_t *y, size_t i, size_t n, __m256i words, int flip)
{
    uint8_t part[LANES];
    const __m256i packed = _mm256_xor_si256(_mm256_packs_epi16(words, words), _mm256_set1_epi8((char)flip));
    const __m256i codes = _mm256_permute4x64_epi64(packed, 0x08);
    _mm_storeu_si128((__m128i *)part, _mm256_castsi256_si128(codes));
    memcpy(y + i, part, n - i < LANES ? n - i : LANES);
}

void nnf_lstm_hidden_qs16_flat__avx2_16(size_t n, const int16_t *leave, const int16_t *c, int k, nnf_fixed a,
                                        int zero_point, int8_t *y)
{
    const __m256i zero = _mm256_set1_epi32(-zero_point);
    for (size_t i = 0; i < n; i += LANES) {
        const wide both = products(nnf_logistic16_avx2(words_at(leave, i, n), GATE_BITS),
                                   nnf_tanh16_avx2(words_at(c, i, n), k + 15));
        const __m256i words = _mm256_packs_epi32(scaled_onto(both.low, a, zero), scaled_onto(both.high, a, zero));
        put_codes((uint8_t *)y, i, n, words, 0);
    }
}

/* nnf_shrink of words. */
static inline __m256i shrunk_words(__m256i a, int bits)
{
    const __m256i mask = _mm256_set1_epi16((int16_t)((1 << bits) - 1));
    const __m256i half = _mm256_sub_epi16(_mm256_srli_epi16(mask, 1), _mm256_srai_epi16(a, 15));
    const __m256i up = _mm256_cmpgt_epi16(_mm256_and_si256(a, mask), half);
    return _mm256_sub_epi16(_mm256_sra_epi16(a, _mm_cvtsi32_si128(bits)), up);
}

void nnf_lstm_cell_qs16_flat__avx2_16(size_t n, const nnf_lstm_cell16 *c)
{
    for (size_t i = 0; i < n; i += LANES) {
        const __m256i candidate = nnf_tanh16_avx2(words_at(c->candidate, i, n), GATE_BITS);
        const __m256i enter = nnf_logistic16_avx2(words_at(c->enter, i, n), GATE_BITS);
        const __m256i forget = nnf_logistic16_avx2(words_at(c->forget, i, n), GATE_BITS);
        const __m256i kept = nnf_mul16_avx2(forget, words_at(c->c_in, i, n));
        const __m256i cell = _mm256_adds_epi16(shrunk_words(nnf_mul16_avx2(enter, candidate), 4), kept);
        const __m256i leave = nnf_logistic16_avx2(words_at(c->leave, i, n), GATE_BITS);
        const __m256i y = nnf_mul16_avx2(leave, nnf_tanh16_avx2(nnf_twice16_avx2(cell), GATE_BITS));
        put_words(c->c_out, i, n, cell);
        put_codes(c->y, i, n, shrunk_words(y, 8), 0x80);
    }
}
