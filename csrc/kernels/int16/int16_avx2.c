#include "int16.h"

#include "nnf/requantize_avx2.h"
#include "nnf/simd/s32_avx2.h"

enum { WIDE = sizeof(S) };

static inline S s32_load_s16(const void *x) { return _mm256_cvtepi16_epi32(_mm_loadu_si128(x)); }
static inline S s32_load_s8(const void *x) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(x)); }

static inline void s32_store_s16(void *y, S value)
{
    _mm_storeu_si128(y, _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1)));
}

static inline void s32_store_s8(void *y, S value)
{
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storel_epi64(y, _mm_packs_epi16(words, words));
}

static inline S s32_scaled(S x, S multiplier, S left, S right) { return nnf_mbqm_avx2(x, multiplier, left, right); }

static inline S s32_if_negative(S x, S yes, S no)
{
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(no), _mm256_castsi256_ps(yes), _mm256_castsi256_ps(x)));
}

static inline S s32_size(S x) { return _mm256_abs_epi32(x); }
static inline S s32_left(S x, int bits) { return _mm256_sll_epi32(x, _mm_cvtsi32_si128(bits)); }
static inline S s32_right(S x, int bits) { return _mm256_sra_epi32(x, _mm_cvtsi32_si128(bits)); }
static inline S s32_right_bits(S x, int bits) { return _mm256_srl_epi32(x, _mm_cvtsi32_si128(bits)); }

/* 16-bit words at `place` and behind it, without sign. */
static inline void s32_pairs(const void *table, S place, S *first, S *second)
{
    const S pairs = _mm256_i32gather_epi32(table, place, 2);
    *first = _mm256_and_si256(pairs, _mm256_set1_epi32(0xFFFF));
    *second = _mm256_srli_epi32(pairs, 16);
}

#include "int16/int16_simd.h"

void nnf_add_qs16_flat__avx2_8(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b,
                               int16_t *y, const nnf_binary_q16 *p)
{
    add_rows(n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qs16_flat__avx2_8(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b,
                               int16_t *y, const nnf_binary_q16 *p)
{
    binary_rows(0, 0, n, a, step_a, b, step_b, y, p);
}

void nnf_rescale_qs16_flat__avx2_8(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S16, TYPE_S16, n, x, y, p);
}

void nnf_rescale_qs16_qs8_flat__avx2_8(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S16, TYPE_S8, n, x, y, p);
}

void nnf_rescale_qs16_s32_flat__avx2_8(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S16, TYPE_S32, n, x, y, p);
}

void nnf_rescale_qs8_qs16_flat__avx2_8(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S8, TYPE_S16, n, x, y, p);
}

void nnf_rescale_s32_qs16_flat__avx2_8(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S32, TYPE_S16, n, x, y, p);
}

void nnf_rescale_s32_qs8_flat__avx2_8(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S32, TYPE_S8, n, x, y, p);
}

void nnf_curve_qs16_flat__avx2_8(size_t n, const int16_t *x, int16_t *y, const int16_t *table)
{
    map_rows(TYPE_S16, TYPE_S16, n, x, y, curved, table);
}

void nnf_sigmoid_qs16_flat__avx2_8(size_t n, const int16_t *x, int16_t *y, const nnf_sigmoid_q16 *p)
{
    map_rows(TYPE_S16, TYPE_S16, n, x, y, sigmoid, p);
}
