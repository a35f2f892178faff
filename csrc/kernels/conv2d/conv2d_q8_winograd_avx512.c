#include "conv2d_pairs_avx512.h"

#define KERNEL(op) op##__avx512_12x32

INLINE void add(__m512i sum[2], const int32_t *a, __m512i low, __m512i high, const int vectors)
{
    nnf_pairs_add_avx512(sum, a, low, high, vectors);
}

#include "conv2d_q8_winograd_avx512.h"
