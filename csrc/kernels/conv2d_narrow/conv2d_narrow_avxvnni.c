#include "conv2d_narrow.h"

#include "conv2d_narrow_q8_avx2.h"

#define KERNEL_Q8(op) op##__avxvnni_32

enum { CODES = 32, IS_SIGNED = 0 };

typedef __m256i S, X, W;

static inline S no_sum(void) { return _mm256_setzero_si256(); }
static inline X read_codes(const uint8_t *a, uint8_t from)
{
    return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)a), _mm256_set1_epi8((char)from));
}

static inline W read_weights(const int8_t *w) { return _mm256_loadu_si256((const __m256i *)w); }
static inline S dot(S sum, X x, W w) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
static inline void finish(const S sum[8], const scheme_of_8 *s, uint8_t *y) { finish_s32(totals_s32(sum), s, y); }

#include "conv2d_narrow/conv2d_narrow_q8_simd.h"
