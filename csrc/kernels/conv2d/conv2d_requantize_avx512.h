/* From a tile of int32 sums to 8-bit codes. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_REQUANTIZE_AVX512_H
#define NNF_CONV2D_REQUANTIZE_AVX512_H

#include "conv2d.h"
#include "nnf/requantize_avx512.h"
#include "nnf/unroll.h"

/* What all rows of a tile share, loaded once: stores of codes could change what the tile points to, for all that a
 * compiler knows. The odd lanes of the multiplier stand ready in the even ones. */
typedef struct nnf_conv2d_finish {
    __m512i multiplier[2], multiplier_odd[2], left[2], right[2], half[2];
    __m512i round, zero_point, lo, hi, flip, order;
    __mmask16 even_lanes;
    __mmask32 columns;
} nnf_conv2d_finish;

INLINE nnf_conv2d_finish nnf_conv2d_finish_of(const nnf_conv2d_q8_tile *t, const int vectors)
{
    nnf_conv2d_finish f;
    const __m512i one = _mm512_set1_epi32(1);
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 16 * v;
        f.multiplier[v] = _mm512_load_si512(header + NNF_CONV2D_Q8_MULTIPLIER * 16 * vectors);
        f.multiplier_odd[v] = _mm512_srli_epi64(f.multiplier[v], 32);
        f.left[v] = _mm512_load_si512(header + NNF_CONV2D_Q8_LEFT * 16 * vectors);
        f.right[v] = _mm512_load_si512(header + NNF_CONV2D_Q8_RIGHT * 16 * vectors);
        f.half[v] = _mm512_srli_epi32(_mm512_sllv_epi32(one, f.right[v]), 1);
    }
    f.round = _mm512_set1_epi64(INT64_C(1) << 31);
    f.zero_point = _mm512_set1_epi16((short)t->zero_point);
    f.lo = _mm512_set1_epi8((char)t->lo);
    f.hi = _mm512_set1_epi8((char)t->hi);
    f.flip = _mm512_set1_epi8((char)t->flip);
    f.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    f.even_lanes = 0x5555;
    f.columns = (__mmask32)(UINT64_C(0xFFFFFFFF) >> (32 - t->columns));
    /* Known constants would be made anew for each row, on a port that the arithmetic needs. */
    __asm__("" : "+v"(f.round), "+k"(f.even_lanes));
    return f;
}

/* nnf_mbqm where the panel is simple: |x| < 2^30, no left shift, right shift of at least 1, half = 2^(right - 1).
 * Without overflow to fear, rounding is adding half, less 1 for a negative x, before the shift. */
INLINE __m512i nnf_conv2d_mbqm_simple(const nnf_conv2d_finish *f, const int v, __m512i x)
{
    x = _mm512_add_epi32(x, x);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(x, f->multiplier[v]), f->round);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(x, 32), f->multiplier_odd[v]), f->round);
    x = _mm512_mask_shuffle_epi32(odd, f->even_lanes, even, _MM_PERM_DDBB);
    x = _mm512_add_epi32(_mm512_add_epi32(x, f->half[v]), _mm512_srai_epi32(x, 31));
    return _mm512_srav_epi32(x, f->right[v]);
}

/* Requantizes a row of `vectors` sums, and the next one if `both`, and stores the codes at c and c + ldc. */
INLINE void nnf_conv2d_store(const nnf_conv2d_finish *f, uint8_t *c, size_t ldc, const int both, const int vectors,
                             const int simple, const __m512i sum[2][2])
{
    __m512i words[2];
    NNF_UNROLL
    for (int i = 0; i < 1 + both; i++) {
        __m512i x[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            x[v] = simple ? nnf_conv2d_mbqm_simple(f, v, sum[i][v])
                          : nnf_mbqm_avx512(sum[i][v], f->multiplier[v], f->left[v], f->right[v]);
        words[i] = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[vectors - 1]), f->zero_point);
    }
    /* Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and hi <= 255. */
    __m512i codes = _mm512_packus_epi16(words[0], words[both]);
    codes = _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(codes, f->lo), f->hi), f->flip);
    codes = _mm512_permutexvar_epi32(f->order, codes);
    _mm256_mask_storeu_epi8(c, f->columns, _mm512_castsi512_si256(codes));
    if (both)
        _mm256_mask_storeu_epi8(c + ldc, f->columns, _mm512_extracti64x4_epi64(codes, 1));
}

/* Row offsets and store of the sums of a whole tile. */
INLINE void nnf_conv2d_store_s32(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, __m512i sum[][2])
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const __m512i offset = _mm512_set1_epi32(t->offset ? t->offset[i] : 0);
        int32_t *c = (int32_t *)t->c + (size_t)i * t->ldc;
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const __mmask16 live = (__mmask16)((UINT64_C(0xFFFFFFFF) >> (32 - t->columns)) >> (16 * v));
            _mm512_mask_storeu_epi32(c + 16 * v, live, _mm512_add_epi32(sum[i][v], offset));
        }
    }
}

/* Row offsets, requantization and store of a whole tile. */
INLINE void nnf_conv2d_finish_tile(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, __m512i sum[][2])
{
    uint8_t *c = t->c;
    const size_t ldc = t->ldc;
    if (t->offset) {
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                sum[i][v] = _mm512_add_epi32(sum[i][v], _mm512_set1_epi32(t->offset[i]));
        }
    }
    const nnf_conv2d_finish f = nnf_conv2d_finish_of(t, vectors);
    if (*nnf_conv2d_q8_simple(t->w, (size_t)(16 * vectors))) {
        NNF_UNROLL
        for (int i = 0; i < rows; i += 2)
            nnf_conv2d_store(&f, c + (size_t)i * ldc, ldc, i + 1 < rows, vectors, 1, sum + i);
    } else {
        NNF_UNROLL
        for (int i = 0; i < rows; i += 2)
            nnf_conv2d_store(&f, c + (size_t)i * ldc, ldc, i + 1 < rows, vectors, 0, sum + i);
    }
}

#endif
