#include "softmax.h"

#include <immintrin.h>
#include <math.h>

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

/* (x - most) beta in double, of the lower (0) or upper (1) eight lanes. */
static inline __attribute__((always_inline)) __m512d scaled(int half, __m512 x, __m512d most, __m512d beta)
{
    const __m256 part = half ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x);
    return _mm512_mul_pd(_mm512_sub_pd(_mm512_cvtps_pd(part), most), beta);
}

static inline __m512 joined(__m512d low, __m512d high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

void nnf_log_softmax_f32_rows__avx512_16(size_t n, const float *x, float *y, float beta)
{
    /* The sign of beta turned into that of x: then the largest is sought. */
    const __m512 sign = _mm512_set1_ps(beta < 0 ? -0.0f : 0.0f);
    __m512 best = _mm512_xor_ps(sign, _mm512_set1_ps(x[0]));
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        best = _mm512_mask_max_ps(best, live, best, _mm512_xor_ps(sign, _mm512_maskz_loadu_ps(live, x + i)));
    }
    const float found = _mm512_reduce_max_ps(best);
    const __m512d most = _mm512_set1_pd(beta < 0 ? -found : found), scale = _mm512_set1_pd(beta);
    __m512d sum[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m512 value = _mm512_maskz_loadu_ps(live, x + i);
        const __m512 power = _mm512_maskz_mov_ps(live, nnf_exp_neg_avx512(
            joined(scaled(0, value, most, scale), scaled(1, value, most, scale))));
        sum[0] = _mm512_add_pd(sum[0], _mm512_cvtps_pd(_mm512_castps512_ps256(power)));
        sum[1] = _mm512_add_pd(sum[1], _mm512_cvtps_pd(_mm512_extractf32x8_ps(power, 1)));
    }
    const __m512d logarithm = _mm512_set1_pd(log(_mm512_reduce_add_pd(_mm512_add_pd(sum[0], sum[1]))));
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        const __m512 value = _mm512_maskz_loadu_ps(live, x + i);
        _mm512_mask_storeu_ps(y + i, live, joined(_mm512_sub_pd(scaled(0, value, most, scale), logarithm),
                                                  _mm512_sub_pd(scaled(1, value, most, scale), logarithm)));
    }
}
