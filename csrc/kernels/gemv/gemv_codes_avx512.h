/* Codes times words, 16 rows at a time. Include only from AVX-512 files, after a function
 * multiply_add(sum, x, w): sum plus the products of neighbouring words in pairs. */
#ifndef NNF_GEMV_CODES_AVX512_H
#define NNF_GEMV_CODES_AVX512_H

#include <immintrin.h>

#include "nnf/unroll.h"

enum { ROWS = 16, DEPTH = 32 };

static inline __m512i widened(int is_signed, __m256i codes)
{
    return is_signed ? _mm512_cvtepi8_epi16(codes) : _mm512_cvtepu8_epi16(codes);
}

static inline __m512i pairs(__m512i a, __m512i b)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

static inline __m512i quads(__m512i a, __m512i b)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

static inline __m512i halves(__m512i a, __m512i b)
{
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

INLINE void gemv_codes(int is_signed, size_t rows, size_t k, const int16_t *x, const uint8_t *w, int32_t *y)
{
    for (size_t j = 0; j < rows; j += ROWS) {
        const size_t live = rows - j < ROWS ? rows - j : ROWS;
        const uint8_t *row[ROWS];
        __m512i sum[ROWS], four[4];
        NNF_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            row[r] = w + (j + (r < live ? r : live - 1)) * k;
            sum[r] = _mm512_setzero_si512();
        }
        size_t i = 0;
        for (; i + DEPTH <= k; i += DEPTH) {
            const __m512i words = _mm512_loadu_si512(x + i);
            NNF_UNROLL
            for (int r = 0; r < ROWS; r++)
                sum[r] = multiply_add(sum[r], words,
                                      widened(is_signed, _mm256_loadu_si256((const __m256i *)(row[r] + i))));
        }
        if (i < k) {
            const __mmask32 rest = (__mmask32)((UINT64_C(1) << (k - i)) - 1);
            const __m512i words = _mm512_maskz_loadu_epi16(rest, x + i);
            NNF_UNROLL
            for (int r = 0; r < ROWS; r++)
                sum[r] = multiply_add(sum[r], words, widened(is_signed, _mm256_maskz_loadu_epi8(rest, row[r] + i)));
        }
        NNF_UNROLL
        for (int q = 0; q < 4; q++)
            four[q] = quads(pairs(sum[4 * q], sum[4 * q + 1]), pairs(sum[4 * q + 2], sum[4 * q + 3]));
        const __m512i total = halves(halves(four[0], four[1]), halves(four[2], four[3]));
        const __mmask16 mask = (__mmask16)((1u << live) - 1);
        _mm512_mask_storeu_epi32(y + j, mask, _mm512_add_epi32(total, _mm512_maskz_loadu_epi32(mask, y + j)));
    }
}

#endif
