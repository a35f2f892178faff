#include "arg.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum kind { F32, S32, QU8 };

INLINE __mmask16 first(size_t count)
{
    return count < 16 ? (__mmask16)((1u << count) - 1) : 0xFFFF;
}

/* 16 values as integers of the same order, the two zeros alike; a NaN and what is masked off come below all others. */
INLINE __m512i keys(const enum kind kind, const void *x, size_t at, __mmask16 mask, __m512i flip)
{
    const __m512i lowest = _mm512_set1_epi32(INT32_MIN);
    __m512i key;
    if (kind == F32) {
        const __m512i bits = _mm512_maskz_loadu_epi32(mask, (const float *)x + at);
        const __m512 value = _mm512_add_ps(_mm512_castsi512_ps(_mm512_xor_si512(bits, flip)), _mm512_setzero_ps());
        key = _mm512_castps_si512(value);
        key = _mm512_xor_si512(key, _mm512_srli_epi32(_mm512_srai_epi32(key, 31), 1));
        mask &= _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q);
    } else if (kind == S32) {
        key = _mm512_xor_si512(_mm512_maskz_loadu_epi32(mask, (const int32_t *)x + at), flip);
    } else {
        key = _mm512_xor_si512(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, (const uint8_t *)x + at)), flip);
    }
    return _mm512_mask_mov_epi32(lowest, mask, key);
}

INLINE void rows(const enum kind kind, size_t count, const void *x, int32_t *y, uint32_t flip)
{
    const __m512i turn = _mm512_set1_epi32((int32_t)flip);
    *y = 0;
    if (kind == F32 && *(const float *)x != *(const float *)x)
        return;
    __m512i best = keys(kind, x, 0, first(count), turn);
    for (size_t i = 16; i < count; i += 16)
        best = _mm512_max_epi32(best, keys(kind, x, i, first(count - i), turn));
    best = _mm512_set1_epi32(_mm512_reduce_max_epi32(best));
    for (size_t i = 0; i < count; i += 16) {
        const __mmask16 live = first(count - i);
        const __mmask16 found = _mm512_mask_cmpeq_epi32_mask(live, keys(kind, x, i, live, turn), best);
        if (found) {
            *y = (int32_t)i + __builtin_ctz(found);
            return;
        }
    }
}

INLINE void across(const enum kind kind, size_t count, size_t stride, size_t n, const void *x, int32_t *y,
                   uint32_t flip)
{
    const __m512i turn = _mm512_set1_epi32((int32_t)flip);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        __m512i best = keys(kind, x, i, live, turn), place = _mm512_setzero_si512();
        if (kind == F32) { /* nothing beats a NaN that stands first */
            const __m512 value = _mm512_maskz_loadu_ps(live, (const float *)x + i);
            best = _mm512_mask_mov_epi32(best, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q),
                                         _mm512_set1_epi32(INT32_MAX));
        }
        for (size_t a = 1; a < count; a++) {
            const __m512i key = keys(kind, x, a * stride + i, live, turn);
            place = _mm512_mask_mov_epi32(place, _mm512_cmpgt_epi32_mask(key, best), _mm512_set1_epi32((int32_t)a));
            best = _mm512_max_epi32(best, key);
        }
        _mm512_mask_storeu_epi32(y + i, live, place);
    }
}

void nnf_arg_f32_rows__avx512_16(size_t count, const float *x, int32_t *y, uint32_t flip)
{
    rows(F32, count, x, y, flip);
}

void nnf_arg_s32_rows__avx512_16(size_t count, const int32_t *x, int32_t *y, uint32_t flip)
{
    rows(S32, count, x, y, flip);
}

void nnf_arg_qu8_rows__avx512_16(size_t count, const uint8_t *x, int32_t *y, uint32_t flip)
{
    rows(QU8, count, x, y, flip);
}

void nnf_arg_across_f32_rows__avx512_16(size_t count, size_t stride, size_t n, const float *x, int32_t *y,
                                        uint32_t flip)
{
    across(F32, count, stride, n, x, y, flip);
}

void nnf_arg_across_s32_rows__avx512_16(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y,
                                        uint32_t flip)
{
    across(S32, count, stride, n, x, y, flip);
}

void nnf_arg_across_qu8_rows__avx512_16(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y,
                                        uint32_t flip)
{
    across(QU8, count, stride, n, x, y, flip);
}
