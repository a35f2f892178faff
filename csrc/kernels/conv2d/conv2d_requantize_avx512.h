/* From a tile of int32 sums to 8-bit codes. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_REQUANTIZE_AVX512_H
#define NNF_CONV2D_REQUANTIZE_AVX512_H

#include "conv2d.h"
#include "nnf/requantize_avx512.h"
#include "nnf/unroll.h"

/* nnf_mbqm where the panel is simple: |x| < 2^30, no left shift, right shift of at least 1, half = 2^(right - 1).
 * Without overflow to fear, rounding is adding half, less 1 for a negative x, before the shift. */
static inline __m512i nnf_conv2d_mbqm_simple(__m512i x, __m512i multiplier, __m512i half, __m512i right)
{
    const __m512i round = _mm512_set1_epi64(INT64_C(1) << 31);
    x = _mm512_add_epi32(x, x);
    __m512i even = _mm512_mul_epi32(x, multiplier);
    __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(multiplier, 32));
    even = _mm512_add_epi64(even, round);
    odd = _mm512_add_epi64(odd, round);
    x = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
    x = _mm512_add_epi32(_mm512_add_epi32(x, half), _mm512_srai_epi32(x, 31));
    return _mm512_srav_epi32(x, right);
}

/* Requantizes two rows of `vectors` sums each and stores `columns` codes of the first and, if `both`, the second. */
static inline __attribute__((always_inline)) void nnf_conv2d_store(const nnf_conv2d_q8_tile *t, size_t row,
                                                                   const int both, const int vectors, const int simple,
                                                                   const __m512i sum[2][2])
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i zero_point = _mm512_set1_epi16((short)t->zero_point);
    const __mmask32 mask = (__mmask32)(UINT64_C(0xFFFFFFFF) >> (32 - t->columns));
    __m512i words[2];
    NNF_UNROLL
    for (int i = 0; i < 1 + both; i++) {
        __m512i x[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const int32_t *header = t->w + 16 * v;
            const __m512i multiplier = _mm512_load_si512(header + NNF_CONV2D_Q8_MULTIPLIER * 16 * vectors);
            const __m512i left = _mm512_load_si512(header + NNF_CONV2D_Q8_LEFT * 16 * vectors);
            const __m512i right = _mm512_load_si512(header + NNF_CONV2D_Q8_RIGHT * 16 * vectors);
            x[v] = sum[i][v];
            if (t->offset)
                x[v] = _mm512_add_epi32(x[v], _mm512_set1_epi32(t->offset[row + (size_t)i]));
            if (simple) {
                const __m512i half = _mm512_srli_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), right), 1);
                x[v] = nnf_conv2d_mbqm_simple(x[v], multiplier, half, right);
            } else {
                x[v] = nnf_mbqm_avx512(x[v], multiplier, left, right);
            }
        }
        words[i] = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[vectors - 1]), zero_point);
    }
    /* Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and hi <= 255. */
    __m512i codes = _mm512_packus_epi16(words[0], words[both]);
    codes = _mm512_max_epu8(codes, _mm512_set1_epi8((char)t->lo));
    codes = _mm512_min_epu8(codes, _mm512_set1_epi8((char)t->hi));
    codes = _mm512_xor_si512(codes, _mm512_set1_epi8((char)t->flip));
    codes = _mm512_permutexvar_epi32(order, codes);
    uint8_t *c = t->c + row * t->ldc;
    _mm256_mask_storeu_epi8(c, mask, _mm512_castsi512_si256(codes));
    if (both)
        _mm256_mask_storeu_epi8(c + t->ldc, mask, _mm512_extracti64x4_epi64(codes, 1));
}

#endif
