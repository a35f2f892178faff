/* Names that all levels share: 4 doubles, and floats as PARTS vectors of them; include only from AVX2 files. */
#ifndef NNF_SIMD_F64_AVX2_H
#define NNF_SIMD_F64_AVX2_H

#include "nnf/simd/f32_avx2.h"

enum { WIDE = 4, PARTS = 2 };

typedef __m256d D;

static inline D f64_all(double value) { return _mm256_set1_pd(value); }
static inline D f64_add(D a, D b) { return _mm256_add_pd(a, b); }
static inline D f64_sub(D a, D b) { return _mm256_sub_pd(a, b); }
static inline D f64_mul(D a, D b) { return _mm256_mul_pd(a, b); }
static inline D f64_divide(D a, D b) { return _mm256_div_pd(a, b); }
static inline D f64_fmadd(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
static inline D f64_root(D x) { return _mm256_sqrt_pd(x); }
/* a > b ? a : b and a < b ? a : b, so that a NaN on either side gives b. */
static inline D f64_larger(D a, D b) { return _mm256_max_pd(a, b); }
static inline D f64_smaller(D a, D b) { return _mm256_min_pd(a, b); }
static inline D f64_floor(D x) { return _mm256_floor_pd(x); }
/* The size of `size` with the sign of `sign`. */
static inline D f64_signed(D size, D sign)
{
    const D bit = f64_all(-0.0);
    return _mm256_or_pd(_mm256_andnot_pd(bit, size), _mm256_and_pd(bit, sign));
}

/* Of each lane yes where a < b, else no. */
static inline D f64_where_below(D a, D b, D yes, D no)
{
    return _mm256_blendv_pd(no, yes, _mm256_cmp_pd(a, b, _CMP_LT_OQ));
}

static inline D f64_load_whole(const double *x) { return _mm256_loadu_pd(x); }
static inline void f64_store_whole(double *y, D value) { _mm256_storeu_pd(y, value); }

static inline __m128i f64_first(size_t count)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32(count < WIDE ? (int)count : WIDE), _mm_setr_epi32(0, 1, 2, 3));
}

/* The first `count`, and zeros behind them. */
static inline D f64_load(size_t count, const double *x)
{
    return count >= WIDE ? f64_load_whole(x) : _mm256_maskload_pd(x, _mm256_cvtepi32_epi64(f64_first(count)));
}

static inline void f64_store(double *y, size_t count, D value)
{
    if (count >= WIDE)
        f64_store_whole(y, value);
    else
        _mm256_maskstore_pd(y, _mm256_cvtepi32_epi64(f64_first(count)), value);
}

/* The first `count` floats, and zeros behind them. */
static inline D f64_widen(size_t count, const float *x)
{
    return _mm256_cvtps_pd(count >= WIDE ? _mm_loadu_ps(x) : _mm_maskload_ps(x, f64_first(count)));
}

static inline void f64_narrow(float *y, size_t count, D value)
{
    if (count >= WIDE)
        _mm_storeu_ps(y, _mm256_cvtpd_ps(value));
    else
        _mm_maskstore_ps(y, f64_first(count), _mm256_cvtpd_ps(value));
}

/* Zeros behind the first `count`. */
static inline D f64_keep(size_t count, D value)
{
    return _mm256_and_pd(value, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(f64_first(count))));
}

static inline double f64_total(D x)
{
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

static inline D f64_part(V x, int part)
{
    return _mm256_cvtps_pd(part ? _mm256_extractf128_ps(x, 1) : _mm256_castps256_ps128(x));
}

/* Integers of 32 bits as PARTS vectors, and back, cut off. */
static inline D f64_integers(__m256i x, int part)
{
    return _mm256_cvtepi32_pd(part ? _mm256_extracti128_si256(x, 1) : _mm256_castsi256_si128(x));
}

static inline __m256i f64_cut(const D *parts)
{
    return _mm256_set_m128i(_mm256_cvttpd_epi32(parts[1]), _mm256_cvttpd_epi32(parts[0]));
}

static inline V f64_floats(const D *parts)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(parts[1]), _mm256_cvtpd_ps(parts[0]));
}

#endif
