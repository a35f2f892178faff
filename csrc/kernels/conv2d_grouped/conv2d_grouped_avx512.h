/* What kernels of vectors of 16 output channels share. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_GROUPED_AVX512_H
#define NNF_CONV2D_GROUPED_AVX512_H

#include <immintrin.h>
#include <string.h>

#include "conv2d/conv2d_requantize_avx512.h"
#include "conv2d_grouped/conv2d_grouped.h"

typedef __m512i S, X;

/* Into a register: gcc would read weights again for each row. */
INLINE __m512i lanes_of(const int32_t *x)
{
    __m512i v = _mm512_load_si512(x);
    __asm__("" : "+v"(v));
    return v;
}

static inline void store_lanes(int32_t *y, __m512i x) { _mm512_store_si512(y, x); }
static inline X spread(X x, X places) { return _mm512_permutexvar_epi32(places, x); }

static inline X fill(const uint8_t *a)
{
    int32_t x;
    memcpy(&x, a, 4);
    return _mm512_set1_epi32(x);
}

/* A vector of 64 bytes would cross lines of the cache for the sake of bytes that are masked out. */
static inline X read(const uint8_t *a, size_t lanes, const size_t most)
{
    const __mmask16 live = (__mmask16)(0xFFFF >> (16 - lanes));
    if (most == 16)
        return _mm512_maskz_loadu_epi32(live, a);
    if (most == 8)
        return _mm512_castsi256_si512(_mm256_maskz_loadu_epi32((__mmask8)live, a));
    return _mm512_castsi128_si512(_mm_maskz_loadu_epi32((__mmask8)live, a));
}

INLINE S first_sum(const nnf_conv2d_q8_tile *f, const int vectors, const int v)
{
    return _mm512_add_epi32(lanes_of(f->w + 16 * v), nnf_conv2d_start(nnf_conv2d_finish_kind(f, vectors)));
}

INLINE void put_rows(const nnf_conv2d_q8_tile *f, int32_t *sums, const int vectors)
{
    nnf_conv2d_store_rows(f, (__m512i(*)[2])sums, vectors, nnf_conv2d_finish_kind(f, vectors));
}

#endif
