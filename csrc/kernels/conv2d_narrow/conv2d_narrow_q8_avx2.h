/* The end of a tile of codes. Include only from files of AVX2 and above. */
#ifndef NNF_CONV2D_NARROW_Q8_AVX2_H
#define NNF_CONV2D_NARROW_Q8_AVX2_H

#include <immintrin.h>

#include "conv2d_narrow/conv2d_narrow.h"
#include "conv2d_narrow/conv2d_narrow_scheme.h"
#include "nnf/requantize_avx2.h"

/* Each vector's lanes, summed up. */
static inline __m256i totals_s32(const __m256i x[8])
{
    const __m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
    const __m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(x[4], x[5]), _mm256_hadd_epi32(x[6], x[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

static inline __m256i lanes_of(const int32_t *x) { return _mm256_loadu_si256((const __m256i *)x); }

static inline void finish_s32(__m256i x, const scheme_of_8 *s, uint8_t *y)
{
    x = nnf_mbqm_avx2(_mm256_add_epi32(x, lanes_of(s->bias)), lanes_of(s->multiplier), lanes_of(s->left),
                      lanes_of(s->right));
    /* The clamp comes first, so that the zero point cannot overflow. */
    x = _mm256_max_epi32(x, _mm256_set1_epi32(s->lo - s->zero_point));
    x = _mm256_min_epi32(x, _mm256_set1_epi32(s->hi - s->zero_point));
    x = _mm256_add_epi32(x, _mm256_set1_epi32(s->zero_point));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    const __m128i codes = _mm_xor_si128(_mm_packus_epi16(words, words), _mm_set1_epi8((char)s->flip));
    _mm_storel_epi64((__m128i *)y, codes);
}

#endif
