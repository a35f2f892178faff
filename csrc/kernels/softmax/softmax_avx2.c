#include "softmax.h"

#include <immintrin.h>
#include <math.h>

#include "nnf/math_avx2.h"

static inline __m256i first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

void nnf_softmax_f32_rows__avx2_16(size_t n, const float *x, float *y, float beta)
{
    float max = x[0];
    size_t i = 0;
    if (n >= 8) {
        __m256 most = _mm256_loadu_ps(x);
        for (i = 8; i + 8 <= n; i += 8)
            most = _mm256_max_ps(most, _mm256_loadu_ps(x + i));
        float lanes[8];
        _mm256_storeu_ps(lanes, most);
        for (int lane = 0; lane < 8; lane++)
            max = lanes[lane] > max ? lanes[lane] : max;
    }
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    const __m256 shift = _mm256_set1_ps(max), scale = _mm256_set1_ps(beta);
    __m256 sum[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (i = 0; i < n; i += 8) {
        const __m256i live = first(n - i);
        const __m256 value = _mm256_sub_ps(_mm256_maskload_ps(x + i, live), shift);
        const __m256 power = nnf_exp_neg_avx2(_mm256_mul_ps(value, scale));
        sum[i / 8 % 2] = _mm256_add_ps(sum[i / 8 % 2], _mm256_and_ps(power, _mm256_castsi256_ps(live)));
        _mm256_maskstore_ps(y + i, live, power);
    }
    const __m256 both = _mm256_add_ps(sum[0], sum[1]);
    __m128 total = _mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
    total = _mm_add_ps(total, _mm_movehl_ps(total, total));
    total = _mm_add_ss(total, _mm_shuffle_ps(total, total, 1));
    const __m256 inverse = _mm256_set1_ps(1.0f / _mm_cvtss_f32(total));
    for (i = 0; i < n; i += 8) {
        const __m256i live = first(n - i);
        _mm256_maskstore_ps(y + i, live, _mm256_mul_ps(_mm256_maskload_ps(y + i, live), inverse));
    }
}

/* (x - most) beta in double, of the lower or upper four lanes. */
static inline __m256d scaled(__m128 x, __m256d most, __m256d beta)
{
    return _mm256_mul_pd(_mm256_sub_pd(_mm256_cvtps_pd(x), most), beta);
}

void nnf_log_softmax_f32_rows__avx2_8(size_t n, const float *x, float *y, float beta)
{
    /* The sign of beta turned into that of x: then the largest is sought. */
    const __m256 sign = _mm256_set1_ps(beta < 0 ? -0.0f : 0.0f);
    __m256 best = _mm256_xor_ps(sign, _mm256_set1_ps(x[0]));
    for (size_t i = 0; i < n; i += 8) {
        const __m256i live = first(n - i);
        const __m256 value = _mm256_xor_ps(sign, _mm256_maskload_ps(x + i, live));
        best = _mm256_max_ps(_mm256_blendv_ps(best, value, _mm256_castsi256_ps(live)), best);
    }
    float lanes[8];
    _mm256_storeu_ps(lanes, best);
    for (int lane = 1; lane < 8; lane++)
        lanes[0] = lanes[lane] > lanes[0] ? lanes[lane] : lanes[0];
    const __m256d most = _mm256_set1_pd(beta < 0 ? -lanes[0] : lanes[0]), scale = _mm256_set1_pd(beta);
    __m256d sum[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    for (size_t i = 0; i < n; i += 8) {
        const __m256i live = first(n - i);
        const __m256 value = _mm256_maskload_ps(x + i, live);
        const __m128 low = _mm256_cvtpd_ps(scaled(_mm256_castps256_ps128(value), most, scale));
        const __m128 high = _mm256_cvtpd_ps(scaled(_mm256_extractf128_ps(value, 1), most, scale));
        const __m256 power = _mm256_and_ps(nnf_exp_neg_avx2(_mm256_set_m128(high, low)), _mm256_castsi256_ps(live));
        sum[0] = _mm256_add_pd(sum[0], _mm256_cvtps_pd(_mm256_castps256_ps128(power)));
        sum[1] = _mm256_add_pd(sum[1], _mm256_cvtps_pd(_mm256_extractf128_ps(power, 1)));
    }
    double parts[4];
    _mm256_storeu_pd(parts, _mm256_add_pd(sum[0], sum[1]));
    const __m256d logarithm = _mm256_set1_pd(log((parts[0] + parts[1]) + (parts[2] + parts[3])));
    for (size_t i = 0; i < n; i += 8) {
        const __m256i live = first(n - i);
        const __m256 value = _mm256_maskload_ps(x + i, live);
        const __m256d low = _mm256_sub_pd(scaled(_mm256_castps256_ps128(value), most, scale), logarithm);
        const __m256d high = _mm256_sub_pd(scaled(_mm256_extractf128_ps(value, 1), most, scale), logarithm);
        _mm256_maskstore_ps(y + i, live, _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)));
    }
}
