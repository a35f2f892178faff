#include "quantize.h"
#include "quantize_row.h"

#include "nnf/simd/codes_f64_avx512.h"
#include "nnf/simd/s32_avx512.h"

#define KERNEL(op) op##__avx512_16
#define KERNEL_FLOATS(op) op##__avx512_16

#include "quantize/quantize_simd.h"

static inline __mmask16 row_lanes(size_t left)
{
    return left < 16 ? (__mmask16)((1U << left) - 1) : 0xFFFF;
}

/* What codes of a row take from its scale. */
typedef struct row_unit {
    __m512 factor;
    __m512i zero, least, order;
} row_unit;

/* Steps of sixteen values to the nearest whole number, ties away from zero. A NaN is far below. */
static inline __m512i row_steps(__m512 values, const row_unit *by)
{
    const __m512 far = _mm512_set1_ps(NNF_ROW_FAR), near = _mm512_set1_ps(-NNF_ROW_FAR);
    const V steps[1] = {_mm512_min_ps(_mm512_max_ps(_mm512_mul_ps(values, by->factor), near), far)};
    return codes_nearest(steps);
}

static inline __m512i row_words(const float *x, const row_unit *by)
{
    const __m512i low = row_steps(_mm512_loadu_ps(x), by), high = row_steps(_mm512_loadu_ps(x + 16), by);
    return _mm512_adds_epi16(_mm512_packs_epi32(low, high), by->zero);
}

void nnf_range_f32_flat__avx512_32(size_t n, const float *x, float range[2])
{
    __m512 low[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()}, high[2] = {low[0], low[0]};
    size_t i = 0;
    for (; i + 32 <= n; i += 32) { /* which stay where a value is a NaN */
        const __m512 first = _mm512_loadu_ps(x + i), second = _mm512_loadu_ps(x + i + 16);
        low[0] = _mm512_min_ps(first, low[0]), low[1] = _mm512_min_ps(second, low[1]);
        high[0] = _mm512_max_ps(first, high[0]), high[1] = _mm512_max_ps(second, high[1]);
    }
    for (; i < n; i += 16) {
        const __m512 values = _mm512_maskz_loadu_ps(row_lanes(n - i), x + i);
        low[0] = _mm512_min_ps(values, low[0]);
        high[0] = _mm512_max_ps(values, high[0]);
    }
    range[0] = _mm512_reduce_min_ps(_mm512_min_ps(low[0], low[1]));
    range[1] = _mm512_reduce_max_ps(_mm512_max_ps(high[0], high[1]));
}

void nnf_quantize_range_f32_qu8_flat__avx512_64(size_t n, const float *x, uint8_t *y, int is_asymmetric,
                                                const float range[2], nnf_row_codes *row)
{
    const nnf_row_scale scale = nnf_row_scale_of(range[0], range[1], is_asymmetric, row);
    const row_unit by = {_mm512_set1_ps(scale.factor), _mm512_set1_epi16((short)scale.zero),
                         _mm512_set1_epi8((char)scale.lo),
                         _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)};
    const __m512i flip = _mm512_set1_epi8((char)0x80);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        const __m512i codes = _mm512_packs_epi16(row_words(x + i, &by), row_words(x + i + 32, &by));
        const __m512i moved = _mm512_xor_si512(_mm512_max_epi8(codes, by.least), flip);
        _mm512_storeu_si512(y + i, _mm512_permutexvar_epi32(by.order, moved));
    }
    const __m512i zero = _mm512_set1_epi32(scale.zero), least = _mm512_set1_epi32(scale.lo);
    for (; i < n; i += 16) {
        const __mmask16 live = row_lanes(n - i);
        const __m512i steps = _mm512_add_epi32(row_steps(_mm512_maskz_loadu_ps(live, x + i), &by), zero);
        const __m128i codes = _mm_xor_si128(_mm512_cvtsepi32_epi8(_mm512_max_epi32(steps, least)),
                                            _mm512_castsi512_si128(flip));
        if (n - i >= 16)
            _mm_storeu_si128((__m128i *)(y + i), codes);
        else
            _mm_mask_storeu_epi8(y + i, live, codes);
    }
}

void nnf_quantize_row_f32_qu8_flat__avx512_64(size_t n, const float *x, uint8_t *y, int is_asymmetric,
                                              nnf_row_codes *row)
{
    float range[2];
    nnf_range_f32_flat__avx512_32(n, x, range);
    nnf_quantize_range_f32_qu8_flat__avx512_64(n, x, y, is_asymmetric, range, row);
}
