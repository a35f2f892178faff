#include "conv2d_grouped.h"

#define KERNEL(op) op##__avx2_24x16k2

enum { N = 8, K = 2, HIGH = 6, WIDE = 6 };

#include "conv2d_grouped_avx2.h"

static inline void add_dot(S *sum, X x, X weights)
{
    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(x, weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"

void nnf_conv2d_grouped_inputs_qu8_flat__avx2_16k2(size_t n, const uint8_t *x, uint8_t flip, void *y)
{
    const __m128i by = _mm_set1_epi8((char)flip);
    uint16_t *to = y;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m128i codes = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(x + i)), by);
        _mm256_storeu_si256((__m256i *)(to + i), _mm256_cvtepu8_epi16(codes));
    }
    for (; i < n; i++)
        to[i] = x[i] ^ flip;
}
