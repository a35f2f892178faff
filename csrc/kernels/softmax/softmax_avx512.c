#include "softmax.h"

#include <immintrin.h>

#include "nnf/math_avx512.h"

static inline __mmask16 first(size_t count)
{
    return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1);
}

void nnf_softmax_f32_rows__avx512_32(size_t n, const float *x, float *y, float beta)
{
    __m512 most = _mm512_set1_ps(x[0]);
    for (size_t i = 0; i < n; i += 16)
        most = _mm512_mask_max_ps(most, first(n - i), most, _mm512_maskz_loadu_ps(first(n - i), x + i));
    const __m512 max = _mm512_set1_ps(_mm512_reduce_max_ps(most)), scale = _mm512_set1_ps(beta);
    __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m512 value = _mm512_sub_ps(_mm512_maskz_loadu_ps(live, x + i), max);
        const __m512 power = nnf_exp_neg_avx512(_mm512_mul_ps(value, scale));
        sum[i / 16 % 2] = _mm512_mask_add_ps(sum[i / 16 % 2], live, sum[i / 16 % 2], power);
        _mm512_mask_storeu_ps(y + i, live, power);
    }
    const __m512 total = _mm512_set1_ps(_mm512_reduce_add_ps(_mm512_add_ps(sum[0], sum[1])));
    const __m512 inverse = _mm512_div_ps(_mm512_set1_ps(1.0f), total);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        _mm512_mask_storeu_ps(y + i, live, _mm512_mul_ps(_mm512_maskz_loadu_ps(live, y + i), inverse));
    }
}
