/* What kernels of 8 output channels share. Include only from files of AVX2 and above, after N. */
#ifndef NNF_CONV2D_GROUPED_AVX2_H
#define NNF_CONV2D_GROUPED_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "conv2d_grouped/conv2d_grouped.h"
#include "nnf/requantize_avx2.h"
#include "nnf/unroll.h"

typedef __m256i S, X;

static inline __m256i lanes_of(const int32_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
static inline void store_lanes(int32_t *y, S x) { _mm256_storeu_si256((__m256i *)y, x); }
static inline S no_sum(void) { return _mm256_setzero_si256(); }
static inline X spread(X x, X places) { return _mm256_permutevar8x32_epi32(x, places); }

/* What all rows share, loaded once: stores of codes could change it, for all that a compiler knows. */
typedef struct finisher {
    __m256i bias, multiplier, left, right, lo, hi, zero_point;
    __m128i flip;
} finisher;

static inline finisher finisher_of(const int32_t *header, const nnf_conv2d_grouped_q8_tile *t)
{
    return (finisher){lanes_of(header), lanes_of(header + 8 * NNF_CONV2D_Q8_MULTIPLIER),
                      lanes_of(header + 8 * NNF_CONV2D_Q8_LEFT), lanes_of(header + 8 * NNF_CONV2D_Q8_RIGHT),
                      _mm256_set1_epi32(t->lo - t->zero_point), _mm256_set1_epi32(t->hi - t->zero_point),
                      _mm256_set1_epi32(t->zero_point), _mm_set1_epi8((char)t->flip)};
}

INLINE void finish(S x, const finisher *f, size_t columns, uint8_t *c)
{
    x = nnf_mbqm_avx2(_mm256_add_epi32(x, f->bias), f->multiplier, f->left, f->right);
    /* The clamp comes first, so that the zero point cannot overflow. */
    x = _mm256_add_epi32(_mm256_min_epi32(_mm256_max_epi32(x, f->lo), f->hi), f->zero_point);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    const __m128i codes = _mm_xor_si128(_mm_packus_epi16(words, words), f->flip);
    if (columns == 8) {
        _mm_storel_epi64((__m128i *)c, codes);
        return;
    }
    uint8_t each[8];
    _mm_storel_epi64((__m128i *)each, codes);
    for (size_t j = 0; j < columns; j++)
        c[j] = each[j];
}

#endif
