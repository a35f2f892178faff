#include "conv2d_grouped.h"

#define KERNEL(op) op##__avx512_24x32k2

enum { N = 16, K = 2, HIGH = 8, WIDE = 12 };

#include "conv2d_grouped_avx512.h"

static inline void add_dot(S *sum, X x, X weights)
{
    *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(x, weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"

void nnf_conv2d_grouped_inputs_qu8_flat__avx512_32k2(size_t n, const uint8_t *x, uint8_t flip, void *y)
{
    const __m256i by = _mm256_set1_epi8((char)flip);
    uint16_t *to = y;
    for (size_t i = 0; i < n; i += 32) {
        const __mmask32 live = n - i < 32 ? UINT32_MAX >> (32 - (n - i)) : UINT32_MAX;
        const __m256i codes = _mm256_xor_si256(_mm256_maskz_loadu_epi8(live, x + i), by);
        _mm512_mask_storeu_epi16(to + i, live, _mm512_cvtepu8_epi16(codes));
    }
}
