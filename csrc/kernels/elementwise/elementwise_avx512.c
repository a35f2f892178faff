#include "elementwise.h"

#include <immintrin.h>

void nnf_add_f32_flat__avx512_16(size_t n, const float *a, const float *b, float *y, float lo, float hi)
{
    /* min/max return the second operand when either is NaN: the sum comes second, so that a NaN stays one. */
    const __m512 low = _mm512_set1_ps(lo), high = _mm512_set1_ps(hi);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 tail = n - i >= 16 ? 0xFFFF : (__mmask16)((1u << (n - i)) - 1);
        const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(tail, a + i), _mm512_maskz_loadu_ps(tail, b + i));
        _mm512_mask_storeu_ps(y + i, tail, _mm512_min_ps(high, _mm512_max_ps(low, sum)));
    }
}
