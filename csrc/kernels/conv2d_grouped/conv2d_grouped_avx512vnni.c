#include "conv2d_grouped.h"

#define KERNEL(op) op##__avx512vnni_24x32k4

enum { N = 16, K = 4, HIGH = 8, WIDE = 12 };

#include "conv2d_grouped_avx512.h"

/* A vector of 64 bytes would cross lines of the cache for the sake of bytes that are masked out. */
static inline X read(const uint8_t *a, size_t span, const size_t most, uint8_t from)
{
    const __mmask16 live = (__mmask16)(0xFFFF >> (16 - span / 4));
    const __m512i flip = _mm512_set1_epi8((char)from);
    if (most == 64)
        return _mm512_xor_si512(_mm512_maskz_loadu_epi32(live, a), flip);
    if (most == 32) {
        const __m256i x = _mm256_maskz_loadu_epi32((__mmask8)live, a);
        return _mm512_castsi256_si512(_mm256_xor_si256(x, _mm512_castsi512_si256(flip)));
    }
    return _mm512_castsi128_si512(_mm_xor_si128(_mm_maskz_loadu_epi32((__mmask8)live, a), _mm512_castsi512_si128(flip)));
}

/* In the sum's own register: of the intrinsic gcc moves sums from register to register. */
static inline void add_dot(S *sum, X x, X weights)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(x), "v"(weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"
