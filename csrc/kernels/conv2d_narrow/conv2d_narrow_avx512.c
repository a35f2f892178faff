#include "conv2d_narrow.h"

#include "conv2d_narrow_q8_avx512.h"
#include "nnf/simd/f32_avx512.h"

#define KERNEL_F32(op) op##__avx512_16
#define KERNEL_Q8(op) op##__avx512_32

enum { CODES = 32, IS_SIGNED = 0 };

static inline X read_codes(const uint8_t *a, uint8_t from)
{
    const __m256i codes = _mm256_loadu_si256((const __m256i *)a);
    return _mm512_cvtepu8_epi16(_mm256_xor_si256(codes, _mm256_set1_epi8((char)from)));
}

static inline W read_weights(const int8_t *w) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)w)); }
static inline S dot(S sum, X x, W w) { return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w)); }

#include "conv2d_narrow/conv2d_narrow_f32_simd.h"
#include "conv2d_narrow/conv2d_narrow_q8_simd.h"
