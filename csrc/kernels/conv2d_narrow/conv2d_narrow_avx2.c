#include "conv2d_narrow.h"

#include "conv2d_narrow_q8_avx2.h"
#include "nnf/simd/f32_avx2.h"

#define KERNEL_F32(op) op##__avx2_8
#define KERNEL_Q8(op) op##__avx2_16

enum { CODES = 16, IS_SIGNED = 0 };

typedef __m256i S, X, W;

static inline S no_sum(void) { return _mm256_setzero_si256(); }
static inline X read_codes(const uint8_t *a, uint8_t from)
{
    return _mm256_cvtepu8_epi16(_mm_xor_si128(_mm_loadu_si128((const __m128i *)a), _mm_set1_epi8((char)from)));
}

static inline W read_weights(const int8_t *w) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w)); }
static inline S dot(S sum, X x, W w) { return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w)); }
static inline void finish(const S sum[8], const scheme_of_8 *s, uint8_t *y) { finish_s32(totals_s32(sum), s, y); }

#include "conv2d_narrow/conv2d_narrow_f32_simd.h"
#include "conv2d_narrow/conv2d_narrow_q8_simd.h"
