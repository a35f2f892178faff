#include "quantize.h"
#include "quantize_row.h"

#include "nnf/simd/codes_f64_avx2.h"
#include "nnf/simd/s32_avx2.h"

#define KERNEL(op) op##__avx2_8
#define KERNEL_FLOATS(op) op##__avx2_8

#include "quantize/quantize_simd.h"

/* Steps of eight values to the nearest whole number, ties away from zero; NNF_QUANTIZE_FAR of a NaN and from there on;
 * -2^31, as which numbers without one are converted, where products overflow, which is far below 0. */
static inline C nearest_steps(const float *x, const unit *by)
{
    const V near = smaller(load_whole(x), by->most), half = bits_or(all(0.49999997f), bits_and(near, all(-0.0f)));
    return _mm256_cvttps_epi32(add(quotient(near, by), half));
}

void nnf_quantize_f32_qu8_flat__avx2_32(size_t n, const float *x, uint8_t *y, float scale, int32_t zero_point,
                                        int32_t lo, int32_t hi)
{
    size_t i = 0;
    if (has_inverse(scale)) {
        const unit by = unit_of(scale);
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
static inline C row_steps(V values, V factor, C zero)
{
    const V far = all(NNF_ROW_FAR), near = all(-NNF_ROW_FAR);
    const V steps[1] = {_mm256_min_ps(_mm256_max_ps(mul(values, factor), near), far)};
    return _mm256_add_epi32(codes_nearest(steps), zero);
}

void nnf_range_f32_flat__avx2_16(size_t n, const float *x, float range[2])
{
    V low[2] = {zero(), zero()}, high[2] = {zero(), zero()};
    size_t i = 0;
    for (; i + 16 <= n; i += 16) { /* which stay where a value is a NaN */
        const V first = load_whole(x + i), second = load_whole(x + i + 8);
        low[0] = smaller(first, low[0]), low[1] = smaller(second, low[1]);
        high[0] = larger(first, high[0]), high[1] = larger(second, high[1]);
    }
    for (; i < n; i += LANES) {
        const V values = load(first_lanes(n - i), x + i);
        low[0] = smaller(values, low[0]);
        high[0] = larger(values, high[0]);
    }
    range[0] = -most_of(negative(smaller(low[0], low[1])));
    range[1] = most_of(larger(high[0], high[1]));
}

void nnf_quantize_range_f32_qu8_flat__avx2_32(size_t n, const float *x, uint8_t *y, int is_asymmetric,
                                              const float range[2], nnf_row_codes *row)
{
    const nnf_row_scale scale = nnf_row_scale_of(range[0], range[1], is_asymmetric, row);
    const V factor = all(scale.factor);
    const C zero_point = codes_all(scale.zero), least = _mm256_set1_epi8((char)scale.lo);
    const C order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), flip = _mm256_set1_epi8((char)0x80);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        C steps[4];
        NNF_UNROLL
        for (int k = 0; k < 4; k++)
            steps[k] = row_steps(load_whole(x + i + 8 * k), factor, zero_point);
        C codes = _mm256_packs_epi16(_mm256_packs_epi32(steps[0], steps[1]), _mm256_packs_epi32(steps[2], steps[3]));
        codes = _mm256_xor_si256(_mm256_max_epi8(codes, least), flip);
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_permutevar8x32_epi32(codes, order));
    }
    for (; i < n; i += LANES) {
        const C steps = row_steps(load(first_lanes(n - i), x + i), factor, zero_point);
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(steps), _mm256_extracti128_si256(steps, 1));
        const __m128i codes = _mm_max_epi8(_mm_packs_epi16(words, words), _mm256_castsi256_si128(least));
        const __m128i moved = _mm_xor_si128(codes, _mm256_castsi256_si128(flip));
        nnf_store_bytes(y + i, (uint64_t)_mm_cvtsi128_si64(moved), n - i);
    }
}

void nnf_quantize_row_f32_qu8_flat__avx2_32(size_t n, const float *x, uint8_t *y, int is_asymmetric, nnf_row_codes *row)
{
    float range[2];
    nnf_range_f32_flat__avx2_16(n, x, range);
    nnf_quantize_range_f32_qu8_flat__avx2_32(n, x, y, is_asymmetric, range, row);
}
