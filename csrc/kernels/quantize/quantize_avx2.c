#include "quantize.h"
#include "quantize_row.h"

#include "nnf/simd/codes_f64_avx2.h"
#include "nnf/simd/s32_avx2.h"

#define KERNEL(op) op##__avx2_8
#define KERNEL_FLOATS(op) op##__avx2_8

#include "quantize/quantize_simd.h"

/* A scale, and its inverse in two floats. */
typedef struct {
    V scale, most, inverse, rest;
} unit;

/* x / scale of eight values, to the nearest whole number, ties away from zero; NNF_QUANTIZE_FAR of a NaN and from there
 * on; -2^31, as which numbers without one are converted, where products overflow, which is far below 0.
 * Without a division, which takes longer than all the rest: the first quotient is less than a unit in its last place
 * off, so that what it leaves of x is exact. Times an inverse that is rounded once, this corrects it to the very float
 * that a division gives (Markstein's theorem). Where products are too small for normal floats it may be another, which
 * rounds to 0 as well. */
static inline C nearest_steps(const float *x, const unit *by)
{
    const V near = smaller(load_whole(x), by->most), half = bits_or(all(0.49999997f), bits_and(near, all(-0.0f)));
    const V first = fmadd(near, by->inverse, mul(near, by->rest));
    return _mm256_cvttps_epi32(add(fmadd(fnmadd(first, by->scale, near), by->inverse, first), half));
}

void nnf_quantize_f32_qu8_flat__avx2_32(size_t n, const float *x, uint8_t *y, float scale, int32_t zero_point,
                                        int32_t lo, int32_t hi)
{
    size_t i = 0;
    if (scale > 0x1p-60f && scale < 0x1p60f) { /* nothing that counts is near the ends of floats */
        const float inverse = 1 / scale, rest = (float)(1 / (double)scale - (double)inverse);
        const unit by = {all(scale), all(NNF_QUANTIZE_FAR * scale), all(inverse), all(rest)};
        const __m256i zero = _mm256_set1_epi16((short)(zero_point - lo)), most = _mm256_set1_epi8((char)(hi - lo));
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), least = _mm256_set1_epi8((char)lo);
        for (; i + 32 <= n; i += 32) {
            const __m256i low = _mm256_packs_epi32(nearest_steps(x + i, &by), nearest_steps(x + i + 8, &by));
            const __m256i high = _mm256_packs_epi32(nearest_steps(x + i + 16, &by), nearest_steps(x + i + 24, &by));
            const __m256i above = _mm256_packus_epi16(_mm256_adds_epi16(low, zero), _mm256_adds_epi16(high, zero));
            const __m256i codes = _mm256_add_epi8(_mm256_min_epu8(above, most), least);
            _mm256_storeu_si256((__m256i *)(y + i), _mm256_permutevar8x32_epi32(codes, order));
        }
    }
    nnf_quantize_f32_qu8_flat__avx2_8(n - i, x + i, y + i, scale, zero_point, lo, hi);
}

/* Codes of eight values, yet to be clamped: steps to the nearest whole number, ties away from zero. A NaN is far below. */
static inline __m256i row_steps(const float *x, __m256 factor, __m256i zero)
{
    const __m256 far = _mm256_set1_ps(NNF_ROW_FAR), near = _mm256_set1_ps(-NNF_ROW_FAR);
    const __m256 product = _mm256_mul_ps(_mm256_loadu_ps(x), factor);
    const V steps[1] = {_mm256_min_ps(_mm256_max_ps(product, near), far)};
    return _mm256_add_epi32(codes_nearest(steps), zero);
}

void nnf_quantize_row_f32_qu8_flat__avx2_32(size_t n, const float *x, uint8_t *y, int is_asymmetric, nnf_row_codes *row)
{
    __m256 low = _mm256_setzero_ps(), high = low;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 values = _mm256_loadu_ps(x + i);
        low = _mm256_min_ps(values, low); /* which stays where a value is a NaN */
        high = _mm256_max_ps(values, high);
    }
    float lows[8], highs[8], lowest = 0, highest = 0;
    _mm256_storeu_ps(lows, low);
    _mm256_storeu_ps(highs, high);
    for (int k = 0; k < 8; k++) {
        lowest = lows[k] < lowest ? lows[k] : lowest;
        highest = highs[k] > highest ? highs[k] : highest;
    }
    for (; i < n; i++) {
        lowest = x[i] < lowest ? x[i] : lowest;
        highest = x[i] > highest ? x[i] : highest;
    }
    const nnf_row_scale scale = nnf_row_scale_of(lowest, highest, is_asymmetric, row);
    const __m256 factor = _mm256_set1_ps(scale.factor);
    const __m256i zero = _mm256_set1_epi32(scale.zero), least = _mm256_set1_epi8((char)scale.lo);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), flip = _mm256_set1_epi8((char)0x80);
    for (i = 0; i + 32 <= n; i += 32) {
        const __m256i first = _mm256_packs_epi32(row_steps(x + i, factor, zero), row_steps(x + i + 8, factor, zero));
        const __m256i second = _mm256_packs_epi32(row_steps(x + i + 16, factor, zero), row_steps(x + i + 24, factor, zero));
        const __m256i codes = _mm256_max_epi8(_mm256_packs_epi16(first, second), least);
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_xor_si256(_mm256_permutevar8x32_epi32(codes, order), flip));
    }
    for (; i < n; i++)
        y[i] = nnf_row_code(x[i], &scale);
}
