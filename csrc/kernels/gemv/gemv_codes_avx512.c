#include "gemv.h"

#include <immintrin.h>

static inline __m512i multiply_add(__m512i sum, __m512i x, __m512i w)
{
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
}

#include "gemv/gemv_codes_avx512.h"

void nnf_gemv_qs16_qs8_rows__avx512_16(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    gemv_codes(1, rows, k, x, w, y);
}

void nnf_gemv_qs16_qu8_rows__avx512_16(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    gemv_codes(0, rows, k, x, w, y);
}
