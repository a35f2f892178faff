#include "conv2d_grouped.h"

#define KERNEL(op) op##__avxvnni_24x16k4

enum { N = 8, K = 4, HIGH = 6, WIDE = 6 };

#include "conv2d_grouped_avx2.h"

/* A vector of 32 bytes would cross lines of the cache for the sake of bytes that are masked out. */
static inline X read(const uint8_t *a, size_t span, const size_t most, uint8_t from)
{
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i live = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(span / 4)), number);
    const __m256i x = most == 32 ? _mm256_maskload_epi32((const int *)a, live)
                                 : _mm256_castsi128_si256(_mm_maskload_epi32((const int *)a,
                                                                             _mm256_castsi256_si128(live)));
    return _mm256_xor_si256(x, _mm256_set1_epi8((char)from));
}

/* In the sum's own register: of the intrinsic gcc moves sums from register to register. */
static inline void add_dot(S *sum, X x, X weights)
{
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(*sum) : "x"(x), "x"(weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"
