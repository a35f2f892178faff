#include "activation.h"

#include <math.h>

#include "nnf/math_avx2.h"
#include "nnf/simd/f32_avx2.h"

static inline V logistic(V x)
{
    return nnf_logistic_avx2(x);
}

static inline V tangent(V x)
{
    return nnf_tanh_avx2(x);
}

static inline V exponential(V x)
{
    return nnf_exp_neg_avx2(x);
}

#define KERNEL(op) op##__avx2_8

#include "activation/activation_simd.h"

/* Four results as doubles. e^x - 1 = 2^n (e^r - 1) + (2^n - 1) keeps its digits near 0; below -50 it is -1. */
static inline __m256d elu(__m256d x, __m256d alpha)
{
    const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1.0), most = _mm256_set1_pd(700.0);
    const __m256d within = _mm256_max_pd(_mm256_set1_pd(-50.0), _mm256_min_pd(most, x));
    const __m256d n = _mm256_round_pd(_mm256_mul_pd(within, _mm256_set1_pd(1.4426950408889634)),
                                      _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d r = _mm256_fnmadd_pd(n, _mm256_set1_pd(6.93147180369123816490e-01), within);
    r = _mm256_fnmadd_pd(n, _mm256_set1_pd(1.90821492927058770002e-10), r);
    const __m256i whole = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n)), _mm256_set1_epi64x(1023));
    const __m256d power = _mm256_castsi256_pd(_mm256_slli_epi64(whole, 52));
    __m256d e = _mm256_fmadd_pd(power, nnf_expm1_near_avx2(r), _mm256_sub_pd(power, one));
    e = _mm256_blendv_pd(e, _mm256_set1_pd(INFINITY), _mm256_cmp_pd(x, most, _CMP_GT_OQ));
    /* min and max return the second operand when either is NaN. */
    return _mm256_add_pd(_mm256_max_pd(zero, x), _mm256_min_pd(_mm256_mul_pd(alpha, e), zero));
}

void nnf_elu_f32_flat__avx2_8(size_t n, const float *x, float *y, float alpha)
{
    const __m256d slope = _mm256_set1_pd((double)alpha);
    for (size_t i = 0; i < n; i += 8) {
        const M live = first_lanes(n - i);
        const __m256 value = load(live, x + i);
        const __m128 low = _mm256_cvtpd_ps(elu(_mm256_cvtps_pd(_mm256_castps256_ps128(value)), slope));
        const __m128 high = _mm256_cvtpd_ps(elu(_mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)), slope));
        store(y + i, live, _mm256_set_m128(high, low));
    }
}

/* Bytes of the table at 32 codes: a shuffle for each of its 16 rows, then bits 4 to 7 of the code halve the choice. */
static inline __m256i lookup(const __m256i *rows, __m256i codes)
{
    const __m256i low = _mm256_and_si256(codes, _mm256_set1_epi8(15));
    /* blendv looks at bit 7 of each byte. */
    const __m256i bit4 = _mm256_slli_epi16(codes, 3), bit5 = _mm256_slli_epi16(codes, 2);
    const __m256i bit6 = _mm256_slli_epi16(codes, 1);
    __m256i half[2];
    for (int h = 0; h < 2; h++) {
        __m256i quarter[2];
        for (int q = 0; q < 2; q++) {
            const __m256i *r = rows + 8 * h + 4 * q;
            const __m256i even = _mm256_blendv_epi8(_mm256_shuffle_epi8(r[0], low), _mm256_shuffle_epi8(r[1], low),
                                                    bit4);
            const __m256i odd = _mm256_blendv_epi8(_mm256_shuffle_epi8(r[2], low), _mm256_shuffle_epi8(r[3], low),
                                                   bit4);
            quarter[q] = _mm256_blendv_epi8(even, odd, bit5);
        }
        half[h] = _mm256_blendv_epi8(quarter[0], quarter[1], bit6);
    }
    return _mm256_blendv_epi8(half[0], half[1], codes);
}

void nnf_lookup_qu8_flat__avx2_32(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    __m256i rows[16];
    for (int r = 0; r < 16; r++)
        rows[r] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * r)));
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i codes = _mm256_loadu_si256((const __m256i *)(x + i));
        _mm256_storeu_si256((__m256i *)(y + i), lookup(rows, codes));
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}
