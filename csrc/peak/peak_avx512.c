/* 512-bit vectors. 8-bit products are formed from pairs of 16-bit values: exact without VNNI for any codes. */
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
    __m512i x = _mm512_set1_epi16(3);
    const __m512i y = _mm512_set1_epi16(5);
#define STEP(a) _mm512_add_epi32(a, _mm512_madd_epi16(x, y))
    NNF_PEAK_LOOP("v", __m512i, y, x, STEP);
#undef STEP
}

void nnf_peak_read__avx512(const void *p, size_t bytes, size_t rounds)
{
#define LOAD(q) _mm512_load_si512(q)
    NNF_PEAK_READ_LOOP("v", __m512i, 64, LOAD);
#undef LOAD
}
