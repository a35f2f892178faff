#include <immintrin.h>

#include "peak/peak_loop.h"

void nnf_peak_s8__avx512vnni(size_t rounds)
{
    __m512i x = _mm512_set1_epi8(3);
    const __m512i y = _mm512_set1_epi8(5);
#define STEP(a) _mm512_dpbusd_epi32(a, x, y)
    NNF_PEAK_LOOP("v", __m512i, y, x, STEP);
#undef STEP
}
