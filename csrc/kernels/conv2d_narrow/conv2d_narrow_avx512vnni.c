#include "conv2d_narrow.h"

#include "conv2d_narrow_q8_avx512.h"

#define KERNEL_Q8(op) op##__avx512vnni_64

enum { CODES = 64, IS_SIGNED = 0 };

static inline X read_codes(const uint8_t *a, uint8_t from)
{
    return _mm512_xor_si512(_mm512_loadu_si512(a), _mm512_set1_epi8((char)from));
}

static inline W read_weights(const int8_t *w) { return _mm512_loadu_si512(w); }
static inline S dot(S sum, X x, W w) { return _mm512_dpbusd_epi32(sum, x, w); }

#include "conv2d_narrow/conv2d_narrow_q8_simd.h"
