#include "conv2d_grouped.h"

#define KERNEL(op) op##__avx2_24x16k2

enum { N = 8, K = 2, HIGH = 6, WIDE = 6 };

#include "conv2d_grouped_avx2.h"

/* Codes as words, of whole fours. */
static inline X read(const uint8_t *a, size_t span, const size_t most, uint8_t from)
{
    __m128i codes;
    int32_t four;
    if (most == 16 && span == 16) {
        codes = _mm_loadu_si128((const __m128i *)a);
    } else {
        codes = span >= 8 ? _mm_loadl_epi64((const __m128i *)a) : _mm_setzero_si128();
        if (span % 8) {
            memcpy(&four, a + span - 4, 4);
            codes = span < 8 ? _mm_cvtsi32_si128(four) : _mm_insert_epi32(codes, four, 2);
        }
    }
    return _mm256_cvtepu8_epi16(_mm_xor_si128(codes, _mm_set1_epi8((char)from)));
}

static inline void add_dot(S *sum, X x, X weights)
{
    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(x, weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"
