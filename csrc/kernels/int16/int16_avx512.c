#include "int16.h"

#include "nnf/requantize_avx512.h"
#include "nnf/simd/s32_avx512.h"

enum { WIDE = sizeof(S) };

static inline S s32_load_s16(const void *x) { return _mm512_cvtepi16_epi32(_mm256_loadu_si256(x)); }
static inline S s32_load_s8(const void *x) { return _mm512_cvtepi8_epi32(_mm_loadu_si128(x)); }
static inline void s32_store_s16(void *y, S value) { _mm256_storeu_si256(y, _mm512_cvtepi32_epi16(value)); }
static inline void s32_store_s8(void *y, S value) { _mm_storeu_si128(y, _mm512_cvtepi32_epi8(value)); }
static inline S s32_scaled(S x, S multiplier, S left, S right) { return nnf_mbqm_avx512(x, multiplier, left, right); }

static inline S s32_if_negative(S x, S yes, S no)
{
    return _mm512_mask_mov_epi32(no, _mm512_cmplt_epi32_mask(x, _mm512_setzero_si512()), yes);
}

static inline S s32_size(S x) { return _mm512_abs_epi32(x); }
static inline S s32_left(S x, int bits) { return _mm512_sll_epi32(x, _mm_cvtsi32_si128(bits)); }
static inline S s32_right(S x, int bits) { return _mm512_sra_epi32(x, _mm_cvtsi32_si128(bits)); }
static inline S s32_right_bits(S x, int bits) { return _mm512_srl_epi32(x, _mm_cvtsi32_si128(bits)); }

/* 16-bit words at `place` and behind it, without sign. */
static inline void s32_pairs(const void *table, S place, S *first, S *second)
{
    const S pairs = _mm512_i32gather_epi32(place, table, 2);
    *first = _mm512_and_si512(pairs, _mm512_set1_epi32(0xFFFF));
    *second = _mm512_srli_epi32(pairs, 16);
}

#include "int16/int16_simd.h"

void nnf_add_qs16_flat__avx512_16(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b,
                                  int16_t *y, const nnf_binary_q16 *p)
{
    add_rows(n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qs16_flat__avx512_16(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b,
                                  int16_t *y, const nnf_binary_q16 *p)
{
    binary_rows(0, 0, n, a, step_a, b, step_b, y, p);
}

void nnf_rescale_qs16_flat__avx512_16(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S16, TYPE_S16, n, x, y, p);
}

void nnf_rescale_qs16_qs8_flat__avx512_16(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S16, TYPE_S8, n, x, y, p);
}

void nnf_rescale_qs16_s32_flat__avx512_16(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S16, TYPE_S32, n, x, y, p);
}

void nnf_rescale_qs8_qs16_flat__avx512_16(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S8, TYPE_S16, n, x, y, p);
}

void nnf_rescale_s32_qs16_flat__avx512_16(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S32, TYPE_S16, n, x, y, p);
}

void nnf_rescale_s32_qs8_flat__avx512_16(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    rescale_rows(TYPE_S32, TYPE_S8, n, x, y, p);
}

void nnf_curve_qs16_flat__avx512_16(size_t n, const int16_t *x, int16_t *y, const int16_t *table)
{
    map_rows(TYPE_S16, TYPE_S16, n, x, y, curved, table);
}

void nnf_sigmoid_qs16_flat__avx512_16(size_t n, const int16_t *x, int16_t *y, const nnf_sigmoid_q16 *p)
{
    map_rows(TYPE_S16, TYPE_S16, n, x, y, sigmoid, p);
}
