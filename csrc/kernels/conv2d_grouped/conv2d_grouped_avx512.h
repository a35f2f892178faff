/* What kernels of 16 output channels share. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_GROUPED_AVX512_H
#define NNF_CONV2D_GROUPED_AVX512_H

#include <immintrin.h>

#include "conv2d_grouped/conv2d_grouped.h"
#include "nnf/requantize_avx512.h"
#include "nnf/unroll.h"

typedef __m512i S, X;

static inline void store_lanes(int32_t *y, S x) { _mm512_storeu_si512(y, x); }
static inline S no_sum(void) { return _mm512_setzero_si512(); }
static inline X lanes_of(const int32_t *x) { return _mm512_loadu_si512(x); }
static inline X spread(X x, X places) { return _mm512_permutexvar_epi32(places, x); }

/* What all rows share, loaded once: stores of codes could change it, for all that a compiler knows. */
typedef struct finisher {
    __m512i bias, multiplier, left, right, lo, hi, zero_point;
    __m128i flip;
} finisher;

static inline finisher finisher_of(const int32_t *header, const nnf_conv2d_grouped_q8_tile *t)
{
    return (finisher){lanes_of(header), lanes_of(header + 16 * NNF_CONV2D_Q8_MULTIPLIER),
                      lanes_of(header + 16 * NNF_CONV2D_Q8_LEFT), lanes_of(header + 16 * NNF_CONV2D_Q8_RIGHT),
                      _mm512_set1_epi32(t->lo - t->zero_point), _mm512_set1_epi32(t->hi - t->zero_point),
                      _mm512_set1_epi32(t->zero_point), _mm_set1_epi8((char)t->flip)};
}

INLINE void finish(S x, const finisher *f, size_t columns, uint8_t *c)
{
    x = nnf_mbqm_avx512(_mm512_add_epi32(x, f->bias), f->multiplier, f->left, f->right);
    /* The clamp comes first, so that the zero point cannot overflow. */
    x = _mm512_add_epi32(_mm512_min_epi32(_mm512_max_epi32(x, f->lo), f->hi), f->zero_point);
    const __m128i codes = _mm_xor_si128(_mm512_cvtepi32_epi8(x), f->flip);
    if (columns == 16)
        _mm_storeu_si128((__m128i *)c, codes);
    else
        _mm_mask_storeu_epi8(c, (__mmask16)(0xFFFF >> (16 - columns)), codes);
}

#endif
