#include "quantize.h"

#include <immintrin.h>
#include <string.h>

static inline __m256i first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

void nnf_quantize_f32_qu8_flat__avx2_8(size_t n, const float *x, uint8_t *y, float scale, int32_t zero, int32_t lo,
                                       int32_t hi)
{
    const __m256 far = _mm256_set1_ps(NNF_QUANTIZE_FAR), sign = _mm256_set1_ps(-0.0f), half = _mm256_set1_ps(0.5f);
    /* The low byte of each lane, gathered into the low half of both 128-bit lanes. */
    const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    for (size_t i = 0; i < n; i += 8) {
        const __m256 value = n - i >= 8 ? _mm256_loadu_ps(x + i) : _mm256_maskload_ps(x + i, first(n - i));
        /* min returns its second operand when the first is NaN. */
        const __m256 near = _mm256_min_ps(_mm256_div_ps(value, _mm256_set1_ps(scale)), far);
        const __m256 steps = _mm256_max_ps(near, _mm256_xor_ps(far, sign));
        const __m256 whole = _mm256_round_ps(steps, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        const __m256 away = _mm256_cmp_ps(_mm256_andnot_ps(sign, _mm256_sub_ps(steps, whole)), half, _CMP_GE_OQ);
        const __m256 one = _mm256_or_ps(_mm256_set1_ps(1.0f), _mm256_and_ps(steps, sign));
        __m256i code = _mm256_cvtps_epi32(_mm256_add_ps(whole, _mm256_and_ps(away, one)));
        code = _mm256_add_epi32(code, _mm256_set1_epi32(zero));
        code = _mm256_min_epi32(_mm256_max_epi32(code, _mm256_set1_epi32(lo)), _mm256_set1_epi32(hi));
        code = _mm256_shuffle_epi8(code, pick);
        const __m128i bytes = _mm_or_si128(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
        const uint64_t raw = (uint64_t)_mm_cvtsi128_si64(bytes);
        if (n - i >= 8)
            memcpy(y + i, &raw, 8);
        else
            memcpy(y + i, &raw, n - i);
    }
}

static inline __attribute__((always_inline)) void dequantize(int is_signed, size_t n, const uint8_t *x, float *y,
                                                             int32_t zero, const float *scale, size_t step)
{
    if (n == 0)
        return;
    const __m256 same = _mm256_set1_ps(*scale);
    for (size_t i = 0; i < n; i += 8) {
        const int whole = n - i >= 8;
        const __m256i live = first(n - i);
        uint64_t raw = 0;
        memcpy(&raw, x + i, whole ? 8 : n - i);
        const __m128i bytes = _mm_cvtsi64_si128((long long)raw);
        const __m256i code = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
        const __m256 centred = _mm256_cvtepi32_ps(_mm256_sub_epi32(code, _mm256_set1_epi32(zero)));
        const __m256 value = _mm256_mul_ps(centred, step ? _mm256_maskload_ps(scale + i, live) : same);
        if (whole)
            _mm256_storeu_ps(y + i, value);
        else
            _mm256_maskstore_ps(y + i, live, value);
    }
}

void nnf_dequantize_qu8_f32_flat__avx2_8(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                         size_t step)
{
    dequantize(0, n, x, y, zero, scale, step);
}

void nnf_dequantize_qs8_f32_flat__avx2_8(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                         size_t step)
{
    dequantize(1, n, x, y, zero, scale, step);
}

/* Four sums as whole steps, one step beyond the clamp at most. */
static inline __m128i whole_steps(__m128i x, __m256d scale, __m256d low, __m256d high)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    __m256d steps = _mm256_mul_pd(_mm256_cvtepi32_pd(x), scale);
    /* max returns its second operand when the first is NaN. */
    steps = _mm256_min_pd(_mm256_max_pd(steps, low), high);
    const __m256d whole = _mm256_round_pd(steps, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256d rest = _mm256_andnot_pd(sign, _mm256_sub_pd(steps, whole));
    const __m256d away = _mm256_cmp_pd(rest, _mm256_set1_pd(0.5), _CMP_GE_OQ);
    const __m256d one = _mm256_or_pd(_mm256_set1_pd(1.0), _mm256_and_pd(steps, sign));
    return _mm256_cvttpd_epi32(_mm256_add_pd(whole, _mm256_and_pd(away, one)));
}

void nnf_requantize_s32_qu8_rows__avx2_8(size_t rows, size_t columns, const int32_t *x, size_t ldx, const double *scale,
                                         const nnf_codes *codes, uint8_t *y, size_t ldy)
{
    const __m256d low = _mm256_set1_pd(codes->lo - codes->zero_point - 1);
    const __m256d high = _mm256_set1_pd(codes->hi - codes->zero_point + 1);
    const __m128i zero_point = _mm_set1_epi32(codes->zero_point), lo = _mm_set1_epi8((char)codes->lo);
    const __m128i hi = _mm_set1_epi8((char)codes->hi), flip = _mm_set1_epi8((char)codes->flip);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j += 8) {
            const size_t live = columns - j < 8 ? columns - j : 8;
            const int32_t *from = x + i * ldx + j;
            const double *by = scale + j;
            int32_t sums[8] = {0};
            double scales[8] = {0};
            if (live < 8) {
                from = memcpy(sums, from, 4 * live);
                by = memcpy(scales, by, 8 * live);
            }
            __m128i half[2];
            for (int h = 0; h < 2; h++) {
                const __m128i four = _mm_loadu_si128((const __m128i *)(from + 4 * h));
                half[h] = _mm_add_epi32(whole_steps(four, _mm256_loadu_pd(by + 4 * h), low, high), zero_point);
            }
            /* Saturation on the way to 8 bits is part of the clamp. */
            __m128i bytes = _mm_packs_epi32(half[0], half[1]);
            bytes = _mm_packus_epi16(bytes, bytes);
            bytes = _mm_xor_si128(_mm_min_epu8(_mm_max_epu8(bytes, lo), hi), flip);
            const uint64_t raw = (uint64_t)_mm_cvtsi128_si64(bytes);
            memcpy(y + i * ldy + j, &raw, live);
        }
    }
}

void nnf_dequantize_s32_f32_rows__avx2_8(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                         const nnf_row_codes *row, const nnf_sum_scales *by, float *y, size_t ldy)
{
    const __m256 step = _mm256_set1_ps(row->step), lo = _mm256_set1_ps(by->lo), hi = _mm256_set1_ps(by->hi);
    const __m256i zero = _mm256_set1_epi32(row->zero);
    for (size_t j = 0; j < columns; j += 8) {
        const __m256i live = first(columns - j);
        const __m256 scale = _mm256_maskload_ps(by->scale + j, live), bias = _mm256_maskload_ps(by->bias + j, live);
        const __m256i excess = _mm256_mullo_epi32(zero, _mm256_maskload_epi32((const int *)by->weights + j, live));
        const __m256 both = _mm256_mul_ps(step, scale);
        for (size_t i = 0; i < rows; i++) {
            const __m256i raw = _mm256_maskload_epi32((const int *)x + i * ldx + j, live);
            const __m256 sum = _mm256_cvtepi32_ps(_mm256_sub_epi32(raw, excess));
            __m256 value = by->by_rows ? _mm256_mul_ps(sum, both) : _mm256_mul_ps(_mm256_mul_ps(sum, scale), step);
            value = _mm256_add_ps(value, bias);
            _mm256_maskstore_ps(y + i * ldy + j, live, _mm256_min_ps(hi, _mm256_max_ps(lo, value)));
        }
    }
}
