/* From a tile of int32 sums to 8-bit codes. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_REQUANTIZE_AVX512_H
#define NNF_CONV2D_REQUANTIZE_AVX512_H

#include "conv2d.h"
#include "nnf/requantize_avx512.h"
#include "nnf/unroll.h"

/* What all rows of a tile share, loaded once: stores of codes could change what the tile points to, for all that a
 * compiler knows. A simple panel is scaled by the formula of small sums in depthwise_conv2d.h, as at AVX2. Of other
 * panels `twice` and `twice_odd` hold the multiplier and the left shift. */
typedef struct nnf_conv2d_finish {
    __m512i twice[2], twice_odd[2], round[2], round_odd[2], right[2];
    __m512i zero_point, lo, hi, flip, order;
    __mmask16 even_lanes;
    __mmask32 columns;
} nnf_conv2d_finish;

/* How the sums of a panel are scaled. CLIPPED: simple, and no code below the zero point is left, so that negative sums
 * need no care. */
enum { NNF_CONV2D_ANY, NNF_CONV2D_SIMPLE, NNF_CONV2D_CLIPPED };

INLINE int nnf_conv2d_finish_kind(const nnf_conv2d_q8_tile *t, const int vectors)
{
    if (!*nnf_conv2d_q8_simple(t->w, (size_t)(16 * vectors)))
        return NNF_CONV2D_ANY;
    return t->lo >= t->zero_point ? NNF_CONV2D_CLIPPED : NNF_CONV2D_SIMPLE;
}

/* What sums hold beside their bias when they are scaled: those of simple panels are unsigned, from 2^31 on. */
INLINE __m512i nnf_conv2d_start(int kind)
{
    return _mm512_set1_epi32(kind == NNF_CONV2D_ANY ? 0 : INT32_MIN);
}

INLINE nnf_conv2d_finish nnf_conv2d_finish_of(const nnf_conv2d_q8_tile *t, const int vectors, const int kind)
{
    nnf_conv2d_finish f;
    const __m512i one = _mm512_set1_epi32(1), half = _mm512_set1_epi64(INT64_C(1) << 31);
    f.even_lanes = 0x5555;
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 16 * v;
        const __m512i multiplier = _mm512_load_si512(header + NNF_CONV2D_Q8_MULTIPLIER * 16 * vectors);
        const __m512i right = _mm512_load_si512(header + NNF_CONV2D_Q8_RIGHT * 16 * vectors);
        f.right[v] = right;
        f.twice[v] = multiplier;
        f.twice_odd[v] = _mm512_load_si512(header + NNF_CONV2D_Q8_LEFT * 16 * vectors);
        if (kind != NNF_CONV2D_ANY) {
            /* 2^(right - 1) - 1 - multiplier + zero_point * 2^right, and the 2^32 of sums of 0 or more. */
            __m512i high = _mm512_sub_epi32(_mm512_srli_epi32(_mm512_sllv_epi32(one, right), 1), multiplier);
            high = _mm512_add_epi32(high, _mm512_sllv_epi32(_mm512_set1_epi32(t->zero_point), right));
            if (kind == NNF_CONV2D_SIMPLE)
                high = _mm512_sub_epi32(high, one);
            f.twice[v] = _mm512_add_epi32(multiplier, multiplier);
            f.twice_odd[v] = _mm512_srli_epi64(f.twice[v], 32);
            f.round[v] = _mm512_or_si512(_mm512_slli_epi64(high, 32), half);
            f.round_odd[v] = _mm512_mask_mov_epi32(high, f.even_lanes, half);
        }
    }
    f.zero_point = _mm512_set1_epi16((short)t->zero_point);
    f.lo = _mm512_set1_epi8((char)t->lo);
    f.hi = _mm512_set1_epi8((char)t->hi);
    f.flip = _mm512_set1_epi8((char)t->flip);
    f.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    f.columns = (__mmask32)(UINT64_C(0xFFFFFFFF) >> (32 - t->columns));
    /* A known constant would be made anew for each row, on a port that the arithmetic needs. */
    __asm__("" : "+k"(f.even_lanes));
    return f;
}

INLINE __m512i nnf_conv2d_scale(const nnf_conv2d_finish *f, const int v, const int kind, __m512i x)
{
    if (kind == NNF_CONV2D_ANY)
        return nnf_mbqm_avx512(x, f->twice[v], f->twice_odd[v], f->right[v]);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(x, f->twice[v]), f->round[v]);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), f->twice_odd[v]), f->round_odd[v]);
    __m512i high = _mm512_mask_shuffle_epi32(odd, f->even_lanes, even, _MM_PERM_DDBB);
    if (kind == NNF_CONV2D_SIMPLE)
        high = _mm512_add_epi32(high, _mm512_srli_epi32(x, 31));
    return _mm512_srav_epi32(high, f->right[v]);
}

/* The codes of a row. Most panels need no mask, which costs whole networks 1.5 to 5 % on Zen 4. */
INLINE void nnf_conv2d_store_row(const nnf_conv2d_finish *f, uint8_t *c, const int vectors, __m256i codes)
{
    if (vectors == 2 && f->columns == 0xFFFFFFFF)
        _mm256_storeu_si256((__m256i *)c, codes);
    else if (vectors == 1 && f->columns == 0xFFFF)
        _mm_storeu_si128((__m128i *)c, _mm256_castsi256_si128(codes));
    else if (vectors == 1 && f->columns == 0xFF)
        _mm_storel_epi64((__m128i *)c, _mm256_castsi256_si128(codes));
    else
        _mm256_mask_storeu_epi8(c, f->columns, codes);
}

/* Requantizes a row of `vectors` sums, which hold the start, and the next one if `both`, and stores the codes at c and
 * c + ldc. */
INLINE void nnf_conv2d_store(const nnf_conv2d_finish *f, uint8_t *c, size_t ldc, const int both, const int vectors,
                             const int kind, const __m512i sum[2][2])
{
    __m512i words[2];
    NNF_UNROLL
    for (int i = 0; i < 1 + both; i++) {
        __m512i x[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            x[v] = nnf_conv2d_scale(f, v, kind, sum[i][v]);
        words[i] = _mm512_packs_epi32(x[0], x[vectors - 1]);
        if (kind == NNF_CONV2D_ANY)
            words[i] = _mm512_adds_epi16(words[i], f->zero_point);
    }
    /* Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and hi <= 255. */
    __m512i codes = _mm512_packus_epi16(words[0], words[both]);
    codes = _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(codes, f->lo), f->hi), f->flip);
    codes = _mm512_permutexvar_epi32(f->order, codes);
    nnf_conv2d_store_row(f, c, vectors, _mm512_castsi512_si256(codes));
    if (both)
        nnf_conv2d_store_row(f, c + ldc, vectors, _mm512_extracti64x4_epi64(codes, 1));
}

/* Row offsets and store of the sums of a whole tile; whole: all columns are there. */
INLINE void nnf_conv2d_store_sums(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const int whole,
                                  __m512i sum[][2])
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const __m512i offset = _mm512_set1_epi32(t->offset ? t->offset[i] : 0);
        int32_t *c = (int32_t *)t->c + (size_t)i * t->ldc;
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const __mmask16 live = (__mmask16)((UINT64_C(0xFFFFFFFF) >> (32 - t->columns)) >> (16 * v));
            const __m512i value = _mm512_add_epi32(sum[i][v], offset);
            if (whole)
                _mm512_storeu_si512(c + 16 * v, value);
            else
                _mm512_mask_storeu_epi32(c + 16 * v, live, value);
        }
    }
}

INLINE void nnf_conv2d_store_s32(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, __m512i sum[][2])
{
    if (t->columns == (size_t)(16 * vectors))
        nnf_conv2d_store_sums(t, rows, vectors, 1, sum);
    else
        nnf_conv2d_store_sums(t, rows, vectors, 0, sum);
}

/* Requantization and store of a whole tile, of one kind. */
INLINE void nnf_conv2d_store_tile(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const int kind,
                                  __m512i sum[][2])
{
    const nnf_conv2d_finish f = nnf_conv2d_finish_of(t, vectors, kind);
    const size_t ldc = t->ldc;
    uint8_t *c = t->c;
    NNF_UNROLL
    for (int i = 0; i < rows; i += 2)
        nnf_conv2d_store(&f, c + (size_t)i * ldc, ldc, i + 1 < rows, vectors, kind, sum + i);
}

/* Requantization and store of as many rows as the tile has, whose sums hold the start and, if any, their offsets. */
INLINE void nnf_conv2d_store_rows_of(const nnf_conv2d_q8_tile *t, __m512i sum[][2], const int vectors, const int kind)
{
    const nnf_conv2d_finish f = nnf_conv2d_finish_of(t, vectors, kind);
    const size_t rows = t->rows, ldc = t->ldc;
    uint8_t *c = t->c;
    size_t i = 0;
    for (; i + 1 < rows; i += 2, c += 2 * ldc)
        nnf_conv2d_store(&f, c, ldc, 1, vectors, kind, sum + i);
    if (i < rows)
        nnf_conv2d_store(&f, c, ldc, 0, vectors, kind, sum + i);
}

INLINE void nnf_conv2d_store_rows(const nnf_conv2d_q8_tile *t, __m512i sum[][2], const int vectors, int kind)
{
    if (kind == NNF_CONV2D_CLIPPED)
        nnf_conv2d_store_rows_of(t, sum, vectors, NNF_CONV2D_CLIPPED);
    else if (kind == NNF_CONV2D_SIMPLE)
        nnf_conv2d_store_rows_of(t, sum, vectors, NNF_CONV2D_SIMPLE);
    else
        nnf_conv2d_store_rows_of(t, sum, vectors, NNF_CONV2D_ANY);
}

/* Row offsets, requantization and store of a whole tile, whose sums hold the start. */
INLINE void nnf_conv2d_finish_tile(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, int kind,
                                   __m512i sum[][2])
{
    if (t->offset) {
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                sum[i][v] = _mm512_add_epi32(sum[i][v], _mm512_set1_epi32(t->offset[i]));
        }
    }
    if (kind == NNF_CONV2D_CLIPPED)
        nnf_conv2d_store_tile(t, rows, vectors, NNF_CONV2D_CLIPPED, sum);
    else if (kind == NNF_CONV2D_SIMPLE)
        nnf_conv2d_store_tile(t, rows, vectors, NNF_CONV2D_SIMPLE, sum);
    else
        nnf_conv2d_store_tile(t, rows, vectors, NNF_CONV2D_ANY, sum);
}

#endif
