#define KERNEL(op) op##__avx2_18x16
#define KERNEL_INPUT(op) op##__avx2_16

#include "conv2d_q8_winograd_avx2.h"
#include "nnf/partial.h"

enum { LANES = 16 };

typedef __m256i W;

INLINE W w_all(int16_t x) { return _mm256_set1_epi16(x); }
INLINE W w_add(W a, W b) { return _mm256_add_epi16(a, b); }
INLINE W w_sub(W a, W b) { return _mm256_sub_epi16(a, b); }
INLINE W w_left(W a, const int bits) { return _mm256_slli_epi16(a, bits); }

INLINE W w_first(size_t count, W x)
{
    static const int16_t ones[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const size_t here = count < LANES ? count : LANES;
    return _mm256_and_si256(x, _mm256_loadu_si256((const __m256i *)(ones + LANES - here)));
}

INLINE W widened(__m128i codes, const bool is_signed)
{
    return is_signed ? _mm256_cvtepi8_epi16(codes) : _mm256_cvtepu8_epi16(codes);
}

INLINE W w_codes(const uint8_t *x, size_t count, const bool is_signed)
{
    if (count >= LANES)
        return widened(_mm_loadu_si128((const __m128i *)x), is_signed);
    if (count <= 8)
        return widened(_mm_cvtsi64_si128((int64_t)nnf_load_bytes(x, count)), is_signed);
    const uint64_t high = nnf_load_bytes(x + count - 8, 8) >> 8 * (LANES - count);
    return widened(_mm_set_epi64x((int64_t)high, (int64_t)nnf_load_bytes(x, 8)), is_signed);
}

INLINE void w_store(int16_t *y, size_t count, W x)
{
    (void)count;
    _mm256_storeu_si256((__m256i *)y, x);
}

#include "conv2d_q8_winograd_input_simd.h"
