#include <immintrin.h>
#include <stdint.h>

#include "nnf/unroll.h"

#define KERNEL(op) op##__avx512vnni_12x32

INLINE void add(__m512i sum[2], const int32_t *a, __m512i low, __m512i high, const int vectors)
{
    const __m512i x = _mm512_set1_epi32(*a);
    sum[0] = _mm512_dpwssd_epi32(sum[0], x, low);
    if (vectors == 2)
        sum[1] = _mm512_dpwssd_epi32(sum[1], x, high);
}

#include "conv2d_q8_winograd_avx512.h"
