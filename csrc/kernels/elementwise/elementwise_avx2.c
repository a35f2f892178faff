#include "elementwise.h"

#include <immintrin.h>

void nnf_add_f32_flat__avx2_8(size_t n, const float *a, const float *b, float *y, float lo, float hi)
{
    /* min/max return the second operand when either is NaN: the sum comes second, so that a NaN stays one. */
    const __m256 low = _mm256_set1_ps(lo), high = _mm256_set1_ps(hi);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        _mm256_storeu_ps(y + i, _mm256_min_ps(high, _mm256_max_ps(low, sum)));
    }
    for (; i < n; i++) {
        const float sum = a[i] + b[i];
        y[i] = sum < lo ? lo : sum > hi ? hi : sum;
    }
}
