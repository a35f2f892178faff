#include "activation.h"

#include <math.h>

#include "nnf/math_avx512.h"
#include "nnf/simd/f32_avx512.h"

static inline V logistic(V x)
{
    return nnf_logistic_avx512(x);
}

static inline V tangent(V x)
{
    return nnf_tanh_avx512(x);
}

static inline V exponential(V x)
{
    return nnf_exp_neg_avx512(x);
}

#define KERNEL(op) op##__avx512_16

#include "activation/activation_simd.h"

/* Eight results. e^x - 1 = 2^n (e^r - 1) + (2^n - 1) keeps its digits near 0; below -50 it is -1. */
static inline __m256 elu(__m256 value, __m512d alpha)
{
    const __m512d zero = _mm512_setzero_pd(), one = _mm512_set1_pd(1.0), most = _mm512_set1_pd(700.0);
    const __m512d x = _mm512_cvtps_pd(value);
    const __m512d within = _mm512_max_pd(_mm512_set1_pd(-50.0), _mm512_min_pd(most, x));
    const __m512d n = _mm512_roundscale_pd(_mm512_mul_pd(within, _mm512_set1_pd(1.4426950408889634)),
                                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512d r = _mm512_fnmadd_pd(n, _mm512_set1_pd(6.93147180369123816490e-01), within);
    r = _mm512_fnmadd_pd(n, _mm512_set1_pd(1.90821492927058770002e-10), r);
    const __m512d power = _mm512_scalef_pd(one, n);
    __m512d e = _mm512_fmadd_pd(power, nnf_expm1_near_avx512(r), _mm512_sub_pd(power, one));
    e = _mm512_mask_mov_pd(e, _mm512_cmp_pd_mask(x, most, _CMP_GT_OQ), _mm512_set1_pd(INFINITY));
    /* min and max return the second operand when either is NaN. */
    return _mm512_cvtpd_ps(_mm512_add_pd(_mm512_max_pd(zero, x), _mm512_min_pd(_mm512_mul_pd(alpha, e), zero)));
}

void nnf_elu_f32_flat__avx512_8(size_t n, const float *x, float *y, float alpha)
{
    const __m512d slope = _mm512_set1_pd((double)alpha);
    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 live = n - i >= 8 ? 0xFF : (__mmask8)((1u << (n - i)) - 1);
        _mm256_mask_storeu_ps(y + i, live, elu(_mm256_maskz_loadu_ps(live, x + i), slope));
    }
}

void nnf_lookup_qu8_flat__avx512_64(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    /* One shuffle for each row of 16 bytes of the table, kept where the high half of the code names the row. */
    __m512i rows[16];
    for (int r = 0; r < 16; r++)
        rows[r] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(table + 16 * r)));
    const __m512i nibble = _mm512_set1_epi8(15);
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 live = n - i >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n - i)) - 1;
        const __m512i codes = _mm512_maskz_loadu_epi8(live, x + i);
        const __m512i low = _mm512_and_si512(codes, nibble);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(codes, 4), nibble);
        __m512i value = _mm512_shuffle_epi8(rows[0], low);
        for (int r = 1; r < 16; r++)
            value = _mm512_mask_shuffle_epi8(value, _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8((char)r)), rows[r],
                                             low);
        _mm512_mask_storeu_epi8(y + i, live, value);
    }
}
