/* As conv2d_narrow_q8_avx2.h, of sums in 16 lanes. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_NARROW_Q8_AVX512_H
#define NNF_CONV2D_NARROW_Q8_AVX512_H

#include "conv2d_narrow/conv2d_narrow_q8_avx2.h"
#include "nnf/unroll.h"

typedef __m512i S, X, W;

static inline S no_sum(void) { return _mm512_setzero_si512(); }

static inline void finish(const S sum[8], const scheme_of_8 *s, uint8_t *y)
{
    __m256i half[8];
    NNF_UNROLL
    for (int i = 0; i < 8; i++)
        half[i] = _mm256_add_epi32(_mm512_castsi512_si256(sum[i]), _mm512_extracti64x4_epi64(sum[i], 1));
    finish_s32(totals_s32(half), s, y);
}

#endif
