#include "conv2d_grouped.h"

#define KERNEL(op) op##__avx512vnni_24x32k4

enum { N = 16, K = 4, HIGH = 8, WIDE = 12 };

#include "conv2d_grouped_avx512.h"

/* In the sum's own register: of the intrinsic gcc moves sums from register to register. */
static inline void add_dot(S *sum, X x, X weights)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(x), "v"(weights));
}

#include "conv2d_grouped/conv2d_grouped_q8_simd.h"

void nnf_conv2d_grouped_inputs_qu8_flat__avx512vnni_32k4(size_t n, const uint8_t *x, uint8_t flip, void *y)
{
    const __m512i by = _mm512_set1_epi8((char)flip);
    uint8_t *to = y;
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 live = n - i < 64 ? UINT64_MAX >> (64 - (n - i)) : UINT64_MAX;
        _mm512_mask_storeu_epi8(to + i, live, _mm512_xor_si512(_mm512_maskz_loadu_epi8(live, x + i), by));
    }
}
