/* 256-bit vectors. 8-bit products are added by eights in 16 bits, as kernels do where codes and weights
 * are small enough; for any codes, pairs of 16-bit values take more. */
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
    __m256i x = _mm256_set1_epi8(3);
    const __m256i y = _mm256_set1_epi8(5), z = _mm256_set1_epi8(7), ones = _mm256_set1_epi16(1);
/* Four different products, as those of the two operands differ by which of them is signed. */
#define TWO(y) _mm256_add_epi16(_mm256_maddubs_epi16(x, y), _mm256_maddubs_epi16(y, x))
#define STEP(a) _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_add_epi16(TWO(y), TWO(z)), ones))
    NNF_PEAK_LOOP("x", __m256i, y, x, STEP);
#undef STEP
#undef TWO
}

void nnf_peak_read__avx2(const void *p, size_t bytes, size_t rounds)
{
#define LOAD(q) _mm256_load_si256((const __m256i *)(const void *)(q))
    NNF_PEAK_READ_LOOP("x", __m256i, 32, LOAD);
#undef LOAD
}
