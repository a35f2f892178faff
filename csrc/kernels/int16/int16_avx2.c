#include "int16.h"

#include <string.h>

#include "int16/int16_words.h"
#include "nnf/requantize_avx2.h"
#include "nnf/simd/s32_avx2.h"
#include "nnf/unroll.h"

static inline S s32_load_s8(const void *x) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(x)); }

static inline void s32_store_s8(void *y, S value)
{
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storel_epi64(y, _mm_packs_epi16(words, words));
}

/* The first n words, fewer than there are lanes. */
INLINE S load_some(enum word_type type, size_t n, const void *x)
{
    char whole[sizeof(S)] = {0};
    memcpy(whole, x, n * type);
    return type == TYPE_S8 ? s32_load_s8(whole) : type == TYPE_S16 ? s32_load_s16(whole) : s32_load_whole((void *)whole);
}

INLINE void store_some(enum word_type type, size_t n, void *y, S value)
{
    char whole[sizeof(S)];
    if (type == TYPE_S8)
        s32_store_s8(whole, value);
    else if (type == TYPE_S16)
        s32_store_s16(whole, value);
    else
        s32_store_whole((void *)whole, value);
    memcpy(y, whole, n * type);
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

/* Four numbers of 32 bits beside four of 64. */
typedef __m128i C;
enum { LONGS = 4 };

static inline C c32_all(int32_t value) { return _mm_set1_epi32(value); }
static inline C c32_min(C a, C b) { return _mm_min_epi32(a, b); }
static inline C c32_max(C a, C b) { return _mm_max_epi32(a, b); }
static inline void c32_store_s16(int16_t *y, C value) { _mm_storel_epi64((__m128i *)y, _mm_packs_epi32(value, value)); }
static inline C c32_load(const int32_t *x) { return _mm_loadu_si128((const __m128i *)x); }

/* The lower halves of four numbers of 64 bits. */
static inline C low_halves(__m256i x)
{
    return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
}

static inline __m256i wide_sums(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    const __m256i offset = _mm256_loadu_si256((const __m256i *)(p->offset + j));
    const __m256i raised = _mm256_slli_epi64(_mm256_cvtepi32_epi64(c32_load(high)), 8);
    return _mm256_add_epi64(_mm256_add_epi64(raised, offset), _mm256_cvtepi32_epi64(c32_load(low)));
}

void nnf_split_qs16_flat__avx2_32(size_t n, const int16_t *x, uint8_t *high, uint8_t *low)
{
    const __m256i bytes = _mm256_set1_epi16(0xFF), flip = _mm256_set1_epi8((char)0x80);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(x + i)), b = _mm256_loadu_si256((const __m256i *)(x + i + 16));
        const __m256i lows = _mm256_packus_epi16(_mm256_and_si256(a, bytes), _mm256_and_si256(b, bytes));
        const __m256i highs = _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
        _mm256_storeu_si256((__m256i *)(low + i), _mm256_permute4x64_epi64(lows, 0xD8));
        _mm256_storeu_si256((__m256i *)(high + i), _mm256_xor_si256(_mm256_permute4x64_epi64(highs, 0xD8), flip));
    }
    for (; i < n; i++) {
        high[i] = (uint8_t)((x[i] >> 8) + 128);
        low[i] = (uint8_t)x[i];
    }
}

static inline C wide_part(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    const __m256i v = wide_sums(p, high, low, j), shift = _mm256_cvtepi32_epi64(c32_load(p->shift + j));
    const __m256i multiplier = _mm256_cvtepi32_epi64(c32_load(p->multiplier + j)), one = _mm256_set1_epi64x(1);
    const __m256i upper = _mm256_slli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(v, 32), multiplier), 32);
    const __m256i half = _mm256_sllv_epi64(one, _mm256_sub_epi64(shift, one));
    const __m256i x = _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(v, multiplier), upper), half);
    /* A shift of the one's complement of numbers below zero is an arithmetic one. */
    const __m256i sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);
    return low_halves(_mm256_xor_si256(_mm256_srlv_epi64(_mm256_xor_si256(x, sign), shift), sign));
}

static inline C s32_part(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    const C v = low_halves(wide_sums(p, high, low, j)), exponent = c32_load(p->shift + j), none = _mm_setzero_si128();
    const __m256i left = _mm256_castsi128_si256(_mm_max_epi32(exponent, none));
    const __m256i right = _mm256_castsi128_si256(_mm_max_epi32(_mm_sub_epi32(none, exponent), none));
    return _mm256_castsi256_si128(nnf_mbqm_avx2(_mm256_castsi128_si256(v),
                                                _mm256_castsi128_si256(c32_load(p->multiplier + j)), left, right));
}

static inline C real_part(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    const __m256d offset = _mm256_setr_pd((double)p->offset[j], (double)p->offset[j + 1], (double)p->offset[j + 2],
                                          (double)p->offset[j + 3]);
    const __m256d raised = _mm256_mul_pd(_mm256_cvtepi32_pd(c32_load(high)), _mm256_set1_pd(256));
    const __m256d v = _mm256_add_pd(_mm256_add_pd(raised, offset), _mm256_cvtepi32_pd(c32_load(low)));
    __m256d steps = _mm256_mul_pd(v, _mm256_loadu_pd(p->scale + j));
    steps = _mm256_min_pd(_mm256_max_pd(steps, _mm256_set1_pd(-65536)), _mm256_set1_pd(65536));
    const C whole = _mm256_cvttpd_epi32(steps);
    const __m256d rest = _mm256_sub_pd(steps, _mm256_cvtepi32_pd(whole));
    /* Twice the rest, cut off, is 1 or -1 from a half on. */
    return _mm_add_epi32(whole, _mm256_cvttpd_epi32(_mm256_add_pd(rest, rest)));
}

#define KERNEL(op) op##__avx2_8
#define KERNEL_LONGS(op) op##__avx2_4

#include "int16/int16_simd.h"
