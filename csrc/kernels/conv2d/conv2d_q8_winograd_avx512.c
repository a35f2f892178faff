#include <stdbool.h>

#include "conv2d_pairs_avx512.h"

#define KERNEL(op) op##__avx512_12x32
#define KERNEL_INPUT(op) op##__avx512_32

INLINE void add(__m512i sum[2], const int32_t *a, __m512i low, __m512i high, const int vectors)
{
    nnf_pairs_add_avx512(sum, a, low, high, vectors);
}

#include "conv2d_q8_winograd_avx512.h"

enum { LANES = 32 };

typedef __m512i W;

INLINE W w_all(int16_t x) { return _mm512_set1_epi16(x); }
INLINE W w_add(W a, W b) { return _mm512_add_epi16(a, b); }
INLINE W w_sub(W a, W b) { return _mm512_sub_epi16(a, b); }
INLINE W w_left(W a, const int bits) { return _mm512_slli_epi16(a, (unsigned)bits); }

INLINE __mmask32 first_words(size_t count)
{
    return count < LANES ? (__mmask32)((UINT32_C(1) << count) - 1) : UINT32_MAX;
}

INLINE W w_first(size_t count, W x) { return _mm512_maskz_mov_epi16(first_words(count), x); }

INLINE W w_codes(const uint8_t *x, size_t count, const bool is_signed)
{
    const __m256i codes = count >= LANES ? _mm256_loadu_si256((const __m256i *)x)
                                         : _mm256_maskz_loadu_epi8(first_words(count), x);
    return is_signed ? _mm512_cvtepi8_epi16(codes) : _mm512_cvtepu8_epi16(codes);
}

INLINE void w_store(int16_t *y, size_t count, W x)
{
    if (count > LANES / 2)
        _mm512_storeu_si512(y, x);
    else
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(x));
}

#include "conv2d_q8_winograd_input_simd.h"
