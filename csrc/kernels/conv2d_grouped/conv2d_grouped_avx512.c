#include "conv2d_grouped.h"

#define KERNEL(op) op##__avx512_24x32k2

enum { N = 16, K = 2, HIGH = 8, WIDE = 12 };

#include "conv2d_grouped_avx512.h"

/* Codes as words. */
static inline X read(const uint8_t *a, size_t span, const size_t most, uint8_t from)
{
    const uint32_t live = UINT32_MAX >> (32 - span);
    const __m256i codes = most == 32 ? _mm256_maskz_loadu_epi8(live, a)
                                     : _mm256_castsi128_si256(_mm_maskz_loadu_epi8((__mmask16)live, a));
    return _mm512_cvtepu8_epi16(_mm256_xor_si256(codes, _mm256_set1_epi8((char)from)));
}

static inline void add_dot(S *sum, X x, X weights)
{
    *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(x, weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"
