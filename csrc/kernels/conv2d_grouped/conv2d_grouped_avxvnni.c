#include "conv2d_grouped.h"

#define KERNEL(op) op##__avxvnni_24x16k4

enum { N = 8, K = 4, HIGH = 6, WIDE = 6 };

#include "conv2d_grouped_avx2.h"

/* In the sum's own register: of the intrinsic gcc moves sums from register to register. */
static inline void add_dot(S *sum, X x, X weights)
{
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(*sum) : "x"(x), "x"(weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"

void nnf_conv2d_grouped_inputs_qu8_flat__avxvnni_16k4(size_t n, const uint8_t *x, uint8_t flip, void *y)
{
    const __m256i by = _mm256_set1_epi8((char)flip);
    uint8_t *to = y;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i codes = _mm256_loadu_si256((const __m256i *)(x + i));
        _mm256_storeu_si256((__m256i *)(to + i), _mm256_xor_si256(codes, by));
    }
    for (; i < n; i++)
        to[i] = x[i] ^ flip;
}
