#include "arg.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum kind { F32, S32, QU8 };

/* Ones in the first `count` lanes. */
INLINE __m256i first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The first `count`, at most 8, values as integers of the same order, the two zeros alike; a NaN and what is not asked
 * for come below all others. */
INLINE __m256i keys(const enum kind kind, const void *x, size_t at, size_t count, __m256i flip)
{
    __m256i mask = first(count), key;
    if (kind == F32) {
        const __m256i bits = _mm256_maskload_epi32((const int *)x + at, mask);
        const __m256 value = _mm256_add_ps(_mm256_castsi256_ps(_mm256_xor_si256(bits, flip)), _mm256_setzero_ps());
        key = _mm256_castps_si256(value);
        key = _mm256_xor_si256(key, _mm256_srli_epi32(_mm256_srai_epi32(key, 31), 1));
        mask = _mm256_and_si256(mask, _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_ORD_Q)));
    } else if (kind == S32) {
        key = _mm256_xor_si256(_mm256_maskload_epi32((const int *)x + at, mask), flip);
    } else {
        uint8_t codes[8] = {0};
        const uint8_t *from = (const uint8_t *)x + at;
        if (count < 8)
            from = memcpy(codes, from, count);
        key = _mm256_xor_si256(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from)), flip);
    }
    return _mm256_blendv_epi8(_mm256_set1_epi32(INT32_MIN), key, mask);
}

INLINE void rows(const enum kind kind, size_t count, const void *x, int32_t *y, uint32_t flip)
{
    const __m256i turn = _mm256_set1_epi32((int32_t)flip);
    *y = 0;
    if (kind == F32 && *(const float *)x != *(const float *)x)
        return;
    __m256i best = keys(kind, x, 0, count, turn);
    for (size_t i = 8; i < count; i += 8)
        best = _mm256_max_epi32(best, keys(kind, x, i, count - i, turn));
    best = _mm256_max_epi32(best, _mm256_permute2x128_si256(best, best, 1));
    best = _mm256_max_epi32(best, _mm256_shuffle_epi32(best, 0x4E));
    best = _mm256_max_epi32(best, _mm256_shuffle_epi32(best, 0xB1));
    for (size_t i = 0; i < count; i += 8) {
        const __m256i same = _mm256_and_si256(_mm256_cmpeq_epi32(keys(kind, x, i, count - i, turn), best),
                                              first(count - i));
        const int found = _mm256_movemask_ps(_mm256_castsi256_ps(same));
        if (found) {
            *y = (int32_t)i + __builtin_ctz((unsigned)found);
            return;
        }
    }
}

INLINE void across(const enum kind kind, size_t count, size_t stride, size_t n, const void *x, int32_t *y,
                   uint32_t flip)
{
    const __m256i turn = _mm256_set1_epi32((int32_t)flip);
    for (size_t i = 0; i < n; i += 8) {
        __m256i best = keys(kind, x, i, n - i, turn), place = _mm256_setzero_si256();
        if (kind == F32) { /* nothing beats a NaN that stands first */
            const __m256 value = _mm256_maskload_ps((const float *)x + i, first(n - i));
            const __m256i odd = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
            best = _mm256_blendv_epi8(best, _mm256_set1_epi32(INT32_MAX), odd);
        }
        for (size_t a = 1; a < count; a++) {
            const __m256i key = keys(kind, x, a * stride + i, n - i, turn);
            place = _mm256_blendv_epi8(place, _mm256_set1_epi32((int32_t)a), _mm256_cmpgt_epi32(key, best));
            best = _mm256_max_epi32(best, key);
        }
        _mm256_maskstore_epi32((int *)y + i, first(n - i), place);
    }
}

void nnf_arg_f32_rows__avx2_8(size_t count, const float *x, int32_t *y, uint32_t flip)
{
    rows(F32, count, x, y, flip);
}

void nnf_arg_s32_rows__avx2_8(size_t count, const int32_t *x, int32_t *y, uint32_t flip)
{
    rows(S32, count, x, y, flip);
}

void nnf_arg_qu8_rows__avx2_8(size_t count, const uint8_t *x, int32_t *y, uint32_t flip)
{
    rows(QU8, count, x, y, flip);
}

void nnf_arg_across_f32_rows__avx2_8(size_t count, size_t stride, size_t n, const float *x, int32_t *y,
                                     uint32_t flip)
{
    across(F32, count, stride, n, x, y, flip);
}

void nnf_arg_across_s32_rows__avx2_8(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y,
                                     uint32_t flip)
{
    across(S32, count, stride, n, x, y, flip);
}

void nnf_arg_across_qu8_rows__avx2_8(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y,
                                     uint32_t flip)
{
    across(QU8, count, stride, n, x, y, flip);
}
