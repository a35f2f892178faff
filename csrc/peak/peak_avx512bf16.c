#include <immintrin.h>

#include "peak/peak_loop.h"

void nnf_peak_bf16__avx512bf16(size_t rounds)
{
    __m512i x = _mm512_set1_epi16(0x3f7f); /* 0.996 and 0.001 in bfloat16 */
    const __m512i y = _mm512_set1_epi16(0x3a83);
#define STEP(a) _mm512_dpbf16_ps(a, (__m512bh)x, (__m512bh)y)
    NNF_PEAK_LOOP("v", __m512, _mm512_set1_ps(0), x, STEP);
#undef STEP
}
