#include "elementwise.h"

#include "nnf/simd/s32_avx512.h"
#include "nnf/simd/u8_avx512.h"

/* Quotients of four, as in elementwise_integer_avx2.c: one division of eight doubles takes as long as two of four, and
 * less of the rest of the loop runs beside it. */
static inline __m128i quotients(__m128i a, __m128i b)
{
    const __m256d ratio = _mm256_div_pd(_mm256_cvtepi32_pd(a), _mm256_cvtepi32_pd(b));
    return _mm256_maskz_cvttpd_epi32(_mm_test_epi32_mask(b, b),
                                     _mm256_roundscale_pd(ratio, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
}

static inline S s32_div(S a, S b)
{
    S y = _mm512_castsi128_si512(quotients(_mm512_castsi512_si128(a), _mm512_castsi512_si128(b)));
    y = _mm512_inserti32x4(y, quotients(_mm512_extracti32x4_epi32(a, 1), _mm512_extracti32x4_epi32(b, 1)), 1);
    y = _mm512_inserti32x4(y, quotients(_mm512_extracti32x4_epi32(a, 2), _mm512_extracti32x4_epi32(b, 2)), 2);
    return _mm512_inserti32x4(y, quotients(_mm512_extracti32x4_epi32(a, 3), _mm512_extracti32x4_epi32(b, 3)), 3);
}

#define KERNEL(op) op##__avx512_16
#define KERNEL_BYTES(op) op##__avx512_64

#include "elementwise/elementwise_integer_simd.h"

/* 1 for each lane of BYTES / LANES vectors of which something holds, else 0. */
INLINE B u8_of_lanes(const P *x)
{
    const __mmask32 low = _mm512_kunpackw(x[1], x[0]), high = _mm512_kunpackw(x[3], x[2]);
    return _mm512_maskz_mov_epi8(_mm512_kunpackd(high, low), u8_all(1));
}

#include "elementwise/elementwise_relation_simd.h"

void nnf_select_qu8_flat__avx512_64(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 live = u8_first(n - i);
        const __m512i byte_of = _mm512_maskz_loadu_epi8(live, choice + i);
        const __mmask64 taken = _mm512_test_epi8_mask(byte_of, byte_of);
        const __m512i second = _mm512_maskz_loadu_epi8(live, (const uint8_t *)b + i);
        _mm512_mask_storeu_epi8((uint8_t *)y + i, live,
                                _mm512_mask_loadu_epi8(second, taken, (const uint8_t *)a + i));
    }
}

void nnf_select_f16_flat__avx512_32(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    for (size_t i = 0; i < n; i += 32) {
        const __mmask32 live = (__mmask32)u8_first(n - i);
        const __m256i byte_of = _mm256_maskz_loadu_epi8(live, choice + i);
        const __mmask32 taken = _mm256_test_epi8_mask(byte_of, byte_of);
        const __m512i second = _mm512_maskz_loadu_epi16(live, (const uint16_t *)b + i);
        _mm512_mask_storeu_epi16((uint16_t *)y + i, live,
                                 _mm512_mask_loadu_epi16(second, taken, (const uint16_t *)a + i));
    }
}

void nnf_select_s32_flat__avx512_16(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = (__mmask16)u8_first(n - i);
        const __m128i byte_of = _mm_maskz_loadu_epi8(live, choice + i);
        const __mmask16 taken = _mm_test_epi8_mask(byte_of, byte_of);
        const __m512i second = _mm512_maskz_loadu_epi32(live, (const int32_t *)b + i);
        _mm512_mask_storeu_epi32((int32_t *)y + i, live,
                                 _mm512_mask_loadu_epi32(second, taken, (const int32_t *)a + i));
    }
}
