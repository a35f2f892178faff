#include "int16.h"

#include "int16/int16_words.h"
#include "nnf/requantize_avx512.h"
#include "nnf/simd/s32_avx512.h"
#include "nnf/unroll.h"

static inline S s32_load_s8(const void *x) { return _mm512_cvtepi8_epi32(_mm_loadu_si128(x)); }
static inline void s32_store_s8(void *y, S value) { _mm_storeu_si128(y, _mm512_cvtepi32_epi8(value)); }

/* The first n words, fewer than there are lanes. */
INLINE S load_some(enum word_type type, size_t n, const void *x)
{
    const __mmask16 live = (__mmask16)((1U << n) - 1);
    if (type == TYPE_S8)
        return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(live, x));
    if (type == TYPE_S16)
        return _mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(live, x));
    return _mm512_maskz_loadu_epi32(live, x);
}

INLINE void store_some(enum word_type type, size_t n, void *y, S value)
{
    const __mmask16 live = (__mmask16)((1U << n) - 1);
    if (type == TYPE_S8)
        _mm_mask_storeu_epi8(y, live, _mm512_cvtepi32_epi8(value));
    else if (type == TYPE_S16)
        _mm256_mask_storeu_epi16(y, live, _mm512_cvtepi32_epi16(value));
    else
        _mm512_mask_storeu_epi32(y, live, value);
}

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

/* Eight numbers of 32 bits beside eight of 64. */
typedef __m256i C;
enum { LONGS = 8 };

static inline C c32_all(int32_t value) { return _mm256_set1_epi32(value); }
static inline C c32_min(C a, C b) { return _mm256_min_epi32(a, b); }
static inline C c32_max(C a, C b) { return _mm256_max_epi32(a, b); }
static inline void c32_store_s16(int16_t *y, C value) { _mm_storeu_si128((__m128i *)y, _mm256_cvtepi32_epi16(value)); }
static inline C c32_load(const int32_t *x) { return _mm256_loadu_si256((const __m256i *)x); }

static inline __m512i wide_sums(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    const __m512i raised = _mm512_slli_epi64(_mm512_cvtepi32_epi64(c32_load(high)), 8);
    return _mm512_add_epi64(_mm512_add_epi64(raised, _mm512_loadu_si512(p->offset + j)),
                            _mm512_cvtepi32_epi64(c32_load(low)));
}

void nnf_split_qs16_flat__avx512_32(size_t n, const int16_t *x, uint8_t *high, uint8_t *low)
{
    const __m256i flip = _mm256_set1_epi8((char)0x80);
    for (size_t i = 0; i < n; i += 32) {
        const __mmask32 live = n - i < 32 ? (__mmask32)((UINT32_C(1) << (n - i)) - 1) : 0xFFFFFFFF;
        const __m512i words = _mm512_maskz_loadu_epi16(live, x + i);
        const __m256i highs = _mm512_cvtepi16_epi8(_mm512_srli_epi16(words, 8));
        _mm256_mask_storeu_epi8(low + i, live, _mm512_cvtepi16_epi8(words));
        _mm256_mask_storeu_epi8(high + i, live, _mm256_xor_si256(highs, flip));
    }
}

static inline C wide_part(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    const __m512i shift = _mm512_cvtepi32_epi64(c32_load(p->shift + j)), one = _mm512_set1_epi64(1);
    const __m512i multiplier = _mm512_cvtepi32_epi64(c32_load(p->multiplier + j));
    const __m512i product = _mm512_mullo_epi64(wide_sums(p, high, low, j), multiplier);
    const __m512i half = _mm512_sllv_epi64(one, _mm512_sub_epi64(shift, one));
    return _mm512_cvtepi64_epi32(_mm512_srav_epi64(_mm512_add_epi64(product, half), shift));
}

static inline C s32_part(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    const C v = _mm512_cvtepi64_epi32(wide_sums(p, high, low, j)), none = _mm256_setzero_si256();
    const C exponent = c32_load(p->shift + j), multiplier = c32_load(p->multiplier + j);
    const __m512i left = _mm512_castsi256_si512(_mm256_max_epi32(exponent, none));
    const __m512i right = _mm512_castsi256_si512(_mm256_max_epi32(_mm256_sub_epi32(none, exponent), none));
    return _mm512_castsi512_si256(
        nnf_mbqm_avx512(_mm512_castsi256_si512(v), _mm512_castsi256_si512(multiplier), left, right));
}

static inline C real_part(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j)
{
    __m512d steps = _mm512_mul_pd(_mm512_cvtepi64_pd(wide_sums(p, high, low, j)), _mm512_loadu_pd(p->scale + j));
    steps = _mm512_min_pd(_mm512_max_pd(steps, _mm512_set1_pd(-65536)), _mm512_set1_pd(65536));
    const C whole = _mm512_cvttpd_epi32(steps);
    const __m512d rest = _mm512_sub_pd(steps, _mm512_cvtepi32_pd(whole));
    /* Twice the rest, cut off, is 1 or -1 from a half on. */
    return _mm256_add_epi32(whole, _mm512_cvttpd_epi32(_mm512_add_pd(rest, rest)));
}

#define KERNEL(op) op##__avx512_16
#define KERNEL_LONGS(op) op##__avx512_8

#include "int16/int16_simd.h"
