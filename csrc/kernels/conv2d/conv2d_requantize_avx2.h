/* From int32 sums of a panel of 16 columns to 8-bit codes. Include only from files of AVX2 and levels above it. */
#ifndef NNF_CONV2D_REQUANTIZE_AVX2_H
#define NNF_CONV2D_REQUANTIZE_AVX2_H

#include <string.h>

#include "conv2d.h"
#include "nnf/partial_avx2.h"
#include "nnf/requantize_avx2.h"
#include "nnf/unroll.h"

enum { NNF_CONV2D_FINISH_M = 60, NNF_CONV2D_FINISH_N = 16 }; /* rows of a tile at most, columns of a panel */

/* How the sums of a panel are scaled. CLIPPED: simple, and no code below the zero point is left, so that negative sums
 * need no care. */
enum { NNF_CONV2D_ANY, NNF_CONV2D_SIMPLE, NNF_CONV2D_CLIPPED };

/* What all rows of a panel share, by kind:
 *   ANY      multiplier and left shift, in `scale` and `scale_odd`, and right shift
 *   SIMPLE   the formula of small sums in depthwise_conv2d.h: both roundings, the zero point and the shift are one 64-bit
 *            sum; of unsigned sums, from 2^31 on
 *   CLIPPED  the same of signed sums: code = (sum * m + round) >> (31 + right), with
 *            round = 2^30 + (2^(right - 1) + zero_point * 2^right) * 2^31; the lanes of `right` are in the order of the
 *            products, even ones before odd ones */
typedef struct nnf_conv2d_finish {
    __m256i scale[2], scale_odd[2], round[2], round_odd[2], right[2];
    __m256i zero_point, lo, hi, flip;
    int kind;
} nnf_conv2d_finish;

INLINE void nnf_conv2d_finish_simple(nnf_conv2d_finish *f, int32_t zero_point, __m256i multiplier, const int v)
{
    /* 2^(right - 1) - 1 - multiplier + zero_point * 2^right, and the 2^32 of sums of 0 or more. */
    const __m256i one = _mm256_set1_epi32(1), half = _mm256_set1_epi64x(INT64_C(1) << 31), right = f->right[v];
    __m256i high = _mm256_sub_epi32(_mm256_srli_epi32(_mm256_sllv_epi32(one, right), 1), multiplier);
    high = _mm256_add_epi32(high, _mm256_sllv_epi32(_mm256_set1_epi32(zero_point), right));
    high = _mm256_sub_epi32(high, one);
    f->scale[v] = _mm256_add_epi32(multiplier, multiplier);
    f->scale_odd[v] = _mm256_srli_epi64(f->scale[v], 32);
    f->round[v] = _mm256_or_si256(_mm256_slli_epi64(high, 32), half);
    f->round_odd[v] = _mm256_blend_epi32(half, high, 0xAA);
}

INLINE void nnf_conv2d_finish_clipped(nnf_conv2d_finish *f, int32_t zero_point, __m256i multiplier, const int v)
{
    const __m256i one = _mm256_set1_epi32(1), right = f->right[v];
    __m256i round = _mm256_srli_epi32(_mm256_sllv_epi32(one, right), 1);
    round = _mm256_add_epi32(round, _mm256_sllv_epi32(_mm256_set1_epi32(zero_point), right));
    const __m256i high = _mm256_srli_epi32(round, 1);
    const __m256i low = _mm256_or_si256(_mm256_slli_epi32(round, 31), _mm256_set1_epi32(1 << 30));
    f->scale[v] = multiplier;
    f->scale_odd[v] = _mm256_srli_epi64(multiplier, 32);
    f->round[v] = _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xAA);
    f->round_odd[v] = _mm256_blend_epi32(_mm256_srli_epi64(low, 32), high, 0xAA);
    f->right[v] = _mm256_shuffle_epi32(_mm256_sub_epi32(right, one), _MM_SHUFFLE(3, 1, 2, 0));
}

INLINE void nnf_conv2d_finish_of(nnf_conv2d_finish *f, const nnf_conv2d_q8_tile *t, const int32_t *w, const int vectors)
{
    const int simple = *nnf_conv2d_q8_simple(w, (size_t)(8 * vectors)) != 0;
    f->kind = !simple ? NNF_CONV2D_ANY : t->lo >= t->zero_point ? NNF_CONV2D_CLIPPED : NNF_CONV2D_SIMPLE;
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const __m256i *header = (const __m256i *)w + v;
        const __m256i multiplier = header[NNF_CONV2D_Q8_MULTIPLIER * vectors];
        f->right[v] = header[NNF_CONV2D_Q8_RIGHT * vectors];
        if (f->kind == NNF_CONV2D_CLIPPED) {
            nnf_conv2d_finish_clipped(f, t->zero_point, multiplier, v);
        } else if (f->kind == NNF_CONV2D_SIMPLE) {
            nnf_conv2d_finish_simple(f, t->zero_point, multiplier, v);
        } else {
            f->scale[v] = multiplier;
            f->scale_odd[v] = header[NNF_CONV2D_Q8_LEFT * vectors];
        }
    }
    f->zero_point = _mm256_set1_epi16((short)t->zero_point);
    f->lo = _mm256_set1_epi8((char)t->lo);
    f->hi = _mm256_set1_epi8((char)t->hi);
    f->flip = _mm256_set1_epi8((char)t->flip);
}

INLINE __m256i nnf_conv2d_scale_simple(const nnf_conv2d_finish *f, const int v, __m256i x)
{
    __m256i even = _mm256_mul_epu32(x, f->scale[v]);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), f->scale_odd[v]);
    even = _mm256_srli_epi64(_mm256_add_epi64(even, f->round[v]), 32);
    odd = _mm256_add_epi64(odd, f->round_odd[v]);
    const __m256i high = _mm256_add_epi32(_mm256_blend_epi32(even, odd, 0xAA), _mm256_srli_epi32(x, 31));
    return _mm256_srav_epi32(high, f->right[v]);
}

/* x and x_odd have the same sums, of which even and odd lanes count. Of four, 0 and 2 come before 1 and 3. */
INLINE __m256i nnf_conv2d_scale_clipped(const nnf_conv2d_finish *f, const int v, __m256i x, __m256i x_odd)
{
    x_odd = _mm256_castps_si256(_mm256_movehdup_ps(_mm256_castsi256_ps(x_odd)));
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(x, f->scale[v]), f->round[v]);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(x_odd, f->scale_odd[v]), f->round_odd[v]);
    const __m256 high = _mm256_shuffle_ps(_mm256_castsi256_ps(even), _mm256_castsi256_ps(odd), _MM_SHUFFLE(3, 1, 3, 1));
    return _mm256_srav_epi32(_mm256_castps_si256(high), f->right[v]);
}

/* A row of a panel in 16 bits. offset: what is added to its sums, or NULL. */
INLINE __m256i nnf_conv2d_finish_row(const nnf_conv2d_finish *f, const int32_t *sum, const int32_t *offset,
                                     const int vectors, const int kind)
{
    const int32_t *again = sum;
    __m256i x[2];
    __asm__("" : "+r"(again)); /* Each product takes its operand from memory: a load for both would be one more. */
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        x[v] = ((const __m256i *)sum)[v];
        __m256i odd = ((const __m256i *)again)[v];
        if (offset)
            odd = x[v] = _mm256_add_epi32(x[v], _mm256_set1_epi32(*offset));
        if (kind == NNF_CONV2D_CLIPPED)
            x[v] = nnf_conv2d_scale_clipped(f, v, x[v], odd);
        else if (kind == NNF_CONV2D_SIMPLE)
            x[v] = nnf_conv2d_scale_simple(f, v, _mm256_add_epi32(x[v], _mm256_set1_epi32(INT32_MIN)));
        else
            x[v] = nnf_mbqm_avx2(x[v], f->scale[v], f->scale_odd[v], f->right[v]);
    }
    const __m256i words = _mm256_packs_epi32(x[0], x[vectors - 1]);
    return kind == NNF_CONV2D_ANY ? _mm256_adds_epi16(words, f->zero_point) : words;
}

/* Codes of two rows, one in each half. Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and
 * hi <= 255. */
INLINE __m256i nnf_conv2d_finish_codes(const nnf_conv2d_finish *f, __m256i row, __m256i other, const int kind)
{
    __m256i codes = _mm256_packus_epi16(row, other);
    codes = _mm256_xor_si256(_mm256_min_epu8(_mm256_max_epu8(codes, f->lo), f->hi), f->flip);
    if (kind == NNF_CONV2D_CLIPPED)
        codes = _mm256_shuffle_epi8(codes, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11,
                                                                                     12, 14, 13, 15)));
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
                                   uint8_t *c, size_t ldc, const int vectors, const int kind)
{
    for (; rows >= 2; rows -= 2, c += 2 * ldc, sum += 2 * NNF_CONV2D_FINISH_N) {
        const int32_t *next = sum + NNF_CONV2D_FINISH_N;
        const __m256i row = nnf_conv2d_finish_row(f, sum, offset, vectors, kind);
        const __m256i other = nnf_conv2d_finish_row(f, next, offset ? offset + 1 : NULL, vectors, kind);
        const __m256i codes = nnf_conv2d_finish_codes(f, row, other, kind);
        nnf_conv2d_store_codes(c, _mm256_castsi256_si128(codes), vectors);
        nnf_conv2d_store_codes(c + ldc, _mm256_extracti128_si256(codes, 1), vectors);
        if (offset)
            offset += 2;
    }
    if (rows) {
        const __m256i row = nnf_conv2d_finish_row(f, sum, offset, vectors, kind);
        nnf_conv2d_store_codes(c, _mm256_castsi256_si128(nnf_conv2d_finish_codes(f, row, row, kind)), vectors);
    }
}

/* The same of any kind. */
INLINE void nnf_conv2d_finish_any(const nnf_conv2d_finish *f, size_t rows, const int32_t *offset, const int32_t *sum,
                                  uint8_t *c, size_t ldc, const int vectors)
{
    static const int32_t none[NNF_CONV2D_FINISH_M];
    const int32_t *from = offset ? offset : none;
    if (f->kind == NNF_CONV2D_CLIPPED && !offset)
        nnf_conv2d_finish_rows(f, rows, NULL, sum, c, ldc, vectors, NNF_CONV2D_CLIPPED);
    else if (f->kind == NNF_CONV2D_CLIPPED)
        nnf_conv2d_finish_rows(f, rows, offset, sum, c, ldc, vectors, NNF_CONV2D_CLIPPED);
    else if (f->kind == NNF_CONV2D_SIMPLE)
        nnf_conv2d_finish_rows(f, rows, from, sum, c, ldc, vectors, NNF_CONV2D_SIMPLE);
    else
        nnf_conv2d_finish_rows(f, rows, from, sum, c, ldc, vectors, NNF_CONV2D_ANY);
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
    nnf_conv2d_finish_any(&f, t->rows, t->offset, sum, to, ldc, vectors);
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
