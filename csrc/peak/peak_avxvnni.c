#include <immintrin.h>

#include "peak/peak_loop.h"

void nnf_peak_s8__avxvnni(size_t rounds)
{
    __m256i x = _mm256_set1_epi8(3);
    const __m256i y = _mm256_set1_epi8(5);
#define STEP(a) _mm256_dpbusd_avx_epi32(a, x, y)
    NNF_PEAK_LOOP("x", __m256i, y, x, STEP);
#undef STEP
}
