/* What kernels of vectors of 8 output channels share. Include only from files of AVX2 and above. */
#ifndef NNF_CONV2D_GROUPED_AVX2_H
#define NNF_CONV2D_GROUPED_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "conv2d/conv2d_requantize_avx2.h"
#include "conv2d_grouped/conv2d_grouped.h"

typedef __m256i S, X;

static inline __m256i lanes_of(const int32_t *x) { return _mm256_load_si256((const __m256i *)x); }
static inline void store_lanes(int32_t *y, __m256i x) { _mm256_store_si256((__m256i *)y, x); }
static inline X spread(X x, X places) { return _mm256_permutevar8x32_epi32(x, places); }

static inline X fill(const uint8_t *a)
{
    int32_t x;
    memcpy(&x, a, 4);
    return _mm256_set1_epi32(x);
}

/* A vector of 32 bytes would cross lines of the cache for the sake of bytes that are masked out. */
static inline X read(const uint8_t *a, size_t lanes, const size_t most)
{
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i live = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes), number);
    if (most == 8)
        return _mm256_maskload_epi32((const int *)a, live);
    return _mm256_castsi128_si256(_mm_maskload_epi32((const int *)a, _mm256_castsi256_si128(live)));
}

INLINE S first_sum(const nnf_conv2d_q8_tile *f, const int vectors, const int v)
{
    (void)vectors;
    return lanes_of(f->w + 8 * v);
}

INLINE void put_rows(const nnf_conv2d_q8_tile *f, const int32_t *sums, const int vectors)
{
    nnf_conv2d_finish_panel(f, f->w, f->columns, sums, f->c, vectors);
}

#endif
