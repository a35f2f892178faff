/* Names that all levels share: codes as doubles; include only from AVX-512 files. */
#ifndef NNF_SIMD_CODES_F64_AVX512_H
#define NNF_SIMD_CODES_F64_AVX512_H

#include "nnf/simd/codes_avx512.h"
#include "nnf/simd/f64_avx512.h"

enum { CODE_DOUBLES = CODES / WIDE };

/* Vector `part` of CODE_DOUBLES. */
static inline D codes_double(C x, int part)
{
    return _mm512_cvtepi32_pd(part ? _mm512_extracti32x8_epi32(x, 1) : _mm512_castsi512_si256(x));
}

/* Doubles below 2^31 to the nearest whole number, ties away from zero, as codes_nearest. */
static inline __m256i codes_nearest_eight(D x)
{
    const D half = _mm512_or_pd(f64_all(0.49999999999999994), _mm512_and_pd(x, f64_all(-0.0)));
    return _mm512_cvttpd_epi32(f64_add(x, half));
}

static inline C codes_nearest_double(const D *x)
{
    return _mm512_inserti32x8(_mm512_castsi256_si512(codes_nearest_eight(x[0])), codes_nearest_eight(x[1]), 1);
}

/* Their whole parts. */
static inline C codes_whole_double(const D *x)
{
    return _mm512_inserti32x8(_mm512_castsi256_si512(_mm512_cvttpd_epi32(x[0])), _mm512_cvttpd_epi32(x[1]), 1);
}

#endif
