/* Names that all levels share: codes as doubles; include only from AVX2 files. */
#ifndef NNF_SIMD_CODES_F64_AVX2_H
#define NNF_SIMD_CODES_F64_AVX2_H

#include "nnf/simd/codes_avx2.h"
#include "nnf/simd/f64_avx2.h"

enum { CODE_DOUBLES = CODES / WIDE };

/* Vector `part` of CODE_DOUBLES. */
static inline D codes_double(C x, int part)
{
    return _mm256_cvtepi32_pd(part ? _mm256_extracti128_si256(x, 1) : _mm256_castsi256_si128(x));
}

/* Doubles below 2^31 to the nearest whole number, ties away from zero, as codes_nearest. */
static inline __m128i codes_nearest_four(D x)
{
    const D half = _mm256_or_pd(f64_all(0.49999999999999994), _mm256_and_pd(x, f64_all(-0.0)));
    return _mm256_cvttpd_epi32(f64_add(x, half));
}

static inline C codes_nearest_double(const D *x)
{
    return _mm256_set_m128i(codes_nearest_four(x[1]), codes_nearest_four(x[0]));
}

/* Their whole parts. */
static inline C codes_whole_double(const D *x)
{
    return _mm256_set_m128i(_mm256_cvttpd_epi32(x[1]), _mm256_cvttpd_epi32(x[0]));
}

#endif
