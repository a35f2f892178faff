#include "svdf.h"

#include "nnf/simd/codes_avx2.h"
#include "nnf/unroll.h"
#define KERNEL(op) op##__avx2_8

typedef __m128i W; /* 8 words of 16 bits */
typedef __m128i D; /* 4 sums of 32 bits, which wrap */

/* Codes of `item` bytes. */
INLINE W words_load(const int item, const void *x)
{
    return item == 1 ? _mm_cvtepi8_epi16(_mm_loadl_epi64(x)) : _mm_loadu_si128(x);
}

INLINE void words_store(const int item, void *y, W x)
{
    if (item == 1)
        _mm_storel_epi64(y, _mm_packs_epi16(x, x));
    else
        _mm_storeu_si128(y, x);
}

INLINE W words_all(int32_t value) { return _mm_set1_epi16((int16_t)value); }
INLINE W words_sub(W a, W b) { return _mm_sub_epi16(a, b); }
INLINE W words_and(W a, W b) { return _mm_and_si128(a, b); }
/* Without the first word, and with a new last one. */
INLINE W words_next(W x, int32_t last) { return _mm_insert_epi16(_mm_srli_si128(x, 2), last, 7); }
INLINE D sums_none(void) { return _mm_setzero_si128(); }
INLINE D sums_mla(D sum, W a, W b) { return _mm_add_epi32(sum, _mm_madd_epi16(a, b)); }
/* The sums of neighbours in a, then in b. */
INLINE D sums_near(D a, D b) { return _mm_hadd_epi32(a, b); }
INLINE C sums_both(D low, D high) { return _mm256_set_m128i(high, low); }

#include "svdf/svdf_q8_simd.h"
