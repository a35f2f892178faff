/* 256-bit vectors. 8-bit products are formed from pairs of 16-bit values: exact without VNNI for any codes. */
#include <immintrin.h>

#include "peak/peak_loop.h"

void nnf_peak_f32__avx2(size_t rounds)
{
    __m256 x = _mm256_set1_ps(0.999f);
    const __m256 y = _mm256_set1_ps(1e-3f);
#define STEP(a) _mm256_fmadd_ps(a, x, y)
    NNF_PEAK_LOOP("x", __m256, y, x, STEP);
#undef STEP
}

void nnf_peak_s8__avx2(size_t rounds)
{
    __m256i x = _mm256_set1_epi16(3);
    const __m256i y = _mm256_set1_epi16(5);
#define STEP(a) _mm256_add_epi32(a, _mm256_madd_epi16(x, y))
    NNF_PEAK_LOOP("x", __m256i, y, x, STEP);
#undef STEP
}

void nnf_peak_read__avx2(const void *p, size_t bytes, size_t rounds)
{
#define LOAD(q) _mm256_load_si256((const __m256i *)(const void *)(q))
    NNF_PEAK_READ_LOOP("x", __m256i, 32, LOAD);
#undef LOAD
}
