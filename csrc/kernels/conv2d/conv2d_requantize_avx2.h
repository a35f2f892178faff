/* From int32 sums of a panel of 16 columns to 8-bit codes. Include only from files of AVX2 and levels above it. */
#ifndef NNF_CONV2D_REQUANTIZE_AVX2_H
#define NNF_CONV2D_REQUANTIZE_AVX2_H

#include <string.h>

#include "conv2d.h"
#include "nnf/partial_avx2.h"
#include "nnf/requantize_avx2.h"
#include "nnf/unroll.h"

enum { NNF_CONV2D_FINISH_M = 30, NNF_CONV2D_FINISH_N = 16 }; /* rows of a tile at most, columns of a panel */

/* What all rows of a panel share. A simple panel is scaled by the formula of small sums in depthwise_conv2d.h: both
 * roundings, the zero point and the shift are one 64-bit sum. Of other panels `twice` and `twice_odd` hold the
 * multiplier and the left shift. */
typedef struct nnf_conv2d_finish {
    __m256i twice[2], twice_odd[2], round[2], round_odd[2], right[2];
    __m256i zero_point, lo, hi, flip;
    int32_t start; /* added to sums beside their row's offset */
    int simple, clipped; /* clipped: no code below the zero point is left, so that negative sums need no care */
} nnf_conv2d_finish;

INLINE void nnf_conv2d_finish_of(nnf_conv2d_finish *f, const nnf_conv2d_q8_tile *t, const int32_t *w, const int vectors)
{
    const __m256i one = _mm256_set1_epi32(1), half = _mm256_set1_epi64x(INT64_C(1) << 31);
    f->simple = *nnf_conv2d_q8_simple(w, (size_t)(8 * vectors)) != 0;
    f->clipped = f->simple && t->lo >= t->zero_point;
    f->start = f->simple ? INT32_MIN : 0;
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const __m256i *header = (const __m256i *)w + v;
        const __m256i multiplier = header[NNF_CONV2D_Q8_MULTIPLIER * vectors];
        const __m256i right = header[NNF_CONV2D_Q8_RIGHT * vectors];
        f->right[v] = right;
        f->twice[v] = multiplier;
        f->twice_odd[v] = header[NNF_CONV2D_Q8_LEFT * vectors];
        if (f->simple) {
            /* 2^(right - 1) - 1 - multiplier + zero_point * 2^right, and the 2^32 of sums of 0 or more. */
            __m256i high = _mm256_sub_epi32(_mm256_srli_epi32(_mm256_sllv_epi32(one, right), 1), multiplier);
            high = _mm256_add_epi32(high, _mm256_sllv_epi32(_mm256_set1_epi32(t->zero_point), right));
            high = f->clipped ? high : _mm256_sub_epi32(high, one);
            f->twice[v] = _mm256_add_epi32(multiplier, multiplier);
            f->twice_odd[v] = _mm256_srli_epi64(f->twice[v], 32);
            f->round[v] = _mm256_or_si256(_mm256_slli_epi64(high, 32), half);
            f->round_odd[v] = _mm256_blend_epi32(half, high, 0xAA);
        }
    }
    f->zero_point = _mm256_set1_epi16((short)(f->simple ? 0 : t->zero_point));
    f->lo = _mm256_set1_epi8((char)t->lo);
    f->hi = _mm256_set1_epi8((char)t->hi);
    f->flip = _mm256_set1_epi8((char)t->flip);
}

INLINE __m256i nnf_conv2d_scale(const nnf_conv2d_finish *f, const int v, const int simple, const int clipped, __m256i x)
{
    if (!simple)
        return nnf_mbqm_avx2(x, f->twice[v], f->twice_odd[v], f->right[v]);
    __m256i even = _mm256_mul_epu32(x, f->twice[v]);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), f->twice_odd[v]);
    even = _mm256_srli_epi64(_mm256_add_epi64(even, f->round[v]), 32);
    odd = _mm256_add_epi64(odd, f->round_odd[v]);
    __m256i high = _mm256_blend_epi32(even, odd, 0xAA);
    if (!clipped)
        high = _mm256_add_epi32(high, _mm256_srli_epi32(x, 31));
    return _mm256_srav_epi32(high, f->right[v]);
}

/* A row of a panel in 16 bits; start: what is added to its sums. */
INLINE __m256i nnf_conv2d_finish_row(const nnf_conv2d_finish *f, const int32_t *sum, __m256i start, const int vectors,
                                     const int simple, const int clipped)
{
    __m256i x[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        x[v] = nnf_conv2d_scale(f, v, simple, clipped, _mm256_add_epi32(((const __m256i *)sum)[v], start));
    const __m256i words = _mm256_packs_epi32(x[0], x[vectors - 1]);
    return simple ? words : _mm256_adds_epi16(words, f->zero_point);
}

/* Codes of two rows, one in each half. Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and
 * hi <= 255. */
INLINE __m256i nnf_conv2d_finish_codes(const nnf_conv2d_finish *f, __m256i row, __m256i other)
{
    __m256i codes = _mm256_packus_epi16(row, other);
    codes = _mm256_xor_si256(_mm256_min_epu8(_mm256_max_epu8(codes, f->lo), f->hi), f->flip);
    return _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

INLINE void nnf_conv2d_store_codes(uint8_t *c, __m128i codes, const int vectors)
{
    if (vectors == 2)
        _mm_storeu_si128((__m128i *)c, codes);
    else
        _mm_storel_epi64((__m128i *)c, codes);
}

/* Codes of whole rows of a panel, 8 * vectors each, from sums [rows][16]. offset: of each row, or NULL. */
INLINE void nnf_conv2d_finish_rows(const nnf_conv2d_finish *f, size_t rows, const int32_t *offset, const int32_t *sum,
                                   uint8_t *c, size_t ldc, const int vectors, const int simple, const int clipped)
{
    const __m256i start = _mm256_set1_epi32(f->start);
    for (; rows >= 2; rows -= 2, c += 2 * ldc, sum += 2 * NNF_CONV2D_FINISH_N) {
        __m256i row = start, other = start;
        if (offset) {
            row = _mm256_add_epi32(row, _mm256_set1_epi32(offset[0]));
            other = _mm256_add_epi32(other, _mm256_set1_epi32(offset[1]));
            offset += 2;
        }
        row = nnf_conv2d_finish_row(f, sum, row, vectors, simple, clipped);
        other = nnf_conv2d_finish_row(f, sum + NNF_CONV2D_FINISH_N, other, vectors, simple, clipped);
        const __m256i codes = nnf_conv2d_finish_codes(f, row, other);
        nnf_conv2d_store_codes(c, _mm256_castsi256_si128(codes), vectors);
        nnf_conv2d_store_codes(c + ldc, _mm256_extracti128_si256(codes, 1), vectors);
    }
    if (rows) {
        const __m256i last = offset ? _mm256_add_epi32(start, _mm256_set1_epi32(*offset)) : start;
        const __m256i row = nnf_conv2d_finish_row(f, sum, last, vectors, simple, clipped);
        nnf_conv2d_store_codes(c, _mm256_castsi256_si128(nnf_conv2d_finish_codes(f, row, row)), vectors);
    }
}

/* The first columns of rows of codes [rows][16] of a panel that is not full: they are made as if it was, without asking
 * at each row how many there are. */
INLINE void nnf_conv2d_copy_codes(const uint8_t *whole, size_t rows, size_t columns, uint8_t *c, size_t ldc)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, whole + i * NNF_CONV2D_FINISH_N, columns);
}

/* Codes of all rows of the tile, at c, of the panel w, from sums [rows][16]. */
INLINE void nnf_conv2d_finish_panel(const nnf_conv2d_q8_tile *t, const int32_t *w, size_t columns, const int32_t *sum,
                                    uint8_t *c, const int vectors)
{
    const int is_full = columns == (size_t)(8 * vectors);
    uint8_t whole[NNF_CONV2D_FINISH_M * NNF_CONV2D_FINISH_N];
    uint8_t *to = is_full ? c : whole;
    const size_t ldc = is_full ? t->ldc : NNF_CONV2D_FINISH_N;
    nnf_conv2d_finish f;
    nnf_conv2d_finish_of(&f, t, w, vectors);
    if (f.clipped)
        nnf_conv2d_finish_rows(&f, t->rows, t->offset, sum, to, ldc, vectors, 1, 1);
    else if (f.simple)
        nnf_conv2d_finish_rows(&f, t->rows, t->offset, sum, to, ldc, vectors, 1, 0);
    else
        nnf_conv2d_finish_rows(&f, t->rows, t->offset, sum, to, ldc, vectors, 0, 0);
    if (!is_full)
        nnf_conv2d_copy_codes(whole, t->rows, columns, c, t->ldc);
}

/* The sums themselves, with the offsets of their rows, as int32 values. */
INLINE void nnf_conv2d_store_sums(const nnf_conv2d_q8_tile *t, size_t columns, const int32_t *sum, int32_t *c,
                                  const int vectors)
{
    for (size_t i = 0; i < t->rows; i++, c += t->ldc, sum += NNF_CONV2D_FINISH_N) {
        const __m256i offset = _mm256_set1_epi32(t->offset ? t->offset[i] : 0);
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const __m256i found = _mm256_add_epi32(((const __m256i *)sum)[v], offset);
            nnf_store_s32_avx2(c + 8 * v, (ptrdiff_t)columns - 8 * v, found);
        }
    }
}

/* What a panel's sums [rows][16] give, from its column `first` on: codes, or the sums where `raw`. */
INLINE void nnf_conv2d_put_panel(const nnf_conv2d_q8_tile *t, const int raw, const int32_t *panel, size_t first,
                                 size_t columns, const int32_t *sum, const int vectors)
{
    if (raw)
        nnf_conv2d_store_sums(t, columns, sum, (int32_t *)(t->c + 4 * first), vectors);
    else
        nnf_conv2d_finish_panel(t, panel, columns, sum, t->c + first, vectors);
}

/* The int32 sums [rows][16] of a panel of 8 * vectors columns, without the offsets of rows. */
typedef void nnf_conv2d_sum_panel(const nnf_conv2d_q8_tile *t, const int32_t *panel, void *work, int32_t *sum,
                                  const int vectors);

/* A tile of any number of columns, panel by panel; raw: the sums are the result. */
INLINE void nnf_conv2d_each_panel(const nnf_conv2d_q8_tile *t, const int raw, void *work, int32_t *sum,
                                  nnf_conv2d_sum_panel *sum_panel)
{
    const size_t n = NNF_CONV2D_FINISH_N;
    const int32_t *w = t->w;
    for (size_t j = 0; j < t->columns; j += n, w += nnf_conv2d_q8_panel(n, t->groups) / 4) {
        const size_t columns = t->columns - j < n ? t->columns - j : n;
        if (nnf_conv2d_width(columns, n) == n) {
            sum_panel(t, w, work, sum, 2);
            nnf_conv2d_put_panel(t, raw, w, j, columns, sum, 2);
        } else {
            sum_panel(t, w, work, sum, 1);
            nnf_conv2d_put_panel(t, raw, w, j, columns, sum, 1);
        }
    }
}

#endif
