/* 512-bit vectors. 8-bit products are added by eights in 16 bits, as kernels do where codes and weights
 * are small enough; for any codes, pairs of 16-bit values take more. */
#include <immintrin.h>

#include "peak/peak_loop.h"

void nnf_peak_f32__avx512(size_t rounds)
{
    __m512 x = _mm512_set1_ps(0.999f);
    const __m512 y = _mm512_set1_ps(1e-3f);
#define STEP(a) _mm512_fmadd_ps(a, x, y)
    NNF_PEAK_LOOP("v", __m512, y, x, STEP);
#undef STEP
}

void nnf_peak_s8__avx512(size_t rounds)
{
    __m512i x = _mm512_set1_epi8(3);
    const __m512i y = _mm512_set1_epi8(5), z = _mm512_set1_epi8(7), ones = _mm512_set1_epi16(1);
/* Four different products, as those of the two operands differ by which of them is signed. */
#define TWO(y) _mm512_add_epi16(_mm512_maddubs_epi16(x, y), _mm512_maddubs_epi16(y, x))
#define STEP(a) _mm512_add_epi32(a, _mm512_madd_epi16(_mm512_add_epi16(TWO(y), TWO(z)), ones))
    NNF_PEAK_LOOP("v", __m512i, y, x, STEP);
#undef STEP
#undef TWO
}

void nnf_peak_read__avx512(const void *p, size_t bytes, size_t rounds)
{
#define LOAD(q) _mm512_load_si512(q)
    NNF_PEAK_READ_LOOP("v", __m512i, 64, LOAD);
#undef LOAD
}
