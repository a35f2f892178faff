/* Sums of products of 16 bits, two at a time. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_PAIRS_AVX512_H
#define NNF_CONV2D_PAIRS_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "nnf/unroll.h"

/* sum += a * w, of two vectors of columns or one. Written out as at AVX2, for the same reason. */
INLINE void nnf_pairs_add_avx512(__m512i sum[2], const int32_t *a, __m512i low, __m512i high, const int vectors)
{
    __m512i x, product;
    if (vectors == 2)
        __asm__("vpbroadcastd %4, %0\n\t"
                "vpmaddwd %5, %0, %1\n\t"
                "vpmaddwd %6, %0, %0\n\t"
                "vpaddd %1, %2, %2\n\t"
                "vpaddd %0, %3, %3"
                : "=&v"(x), "=&v"(product), "+v"(sum[0]), "+v"(sum[1])
                : "m"(*a), "v"(low), "v"(high));
    else
        __asm__("vpbroadcastd %2, %0\n\t"
                "vpmaddwd %3, %0, %0\n\t"
                "vpaddd %0, %1, %1"
                : "=&v"(x), "+v"(sum[0])
                : "m"(*a), "v"(low));
}

#endif
