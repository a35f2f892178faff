/* Names that all levels share: 8 doubles, and floats as PARTS vectors of them; include only from AVX-512 files. */
#ifndef NNF_SIMD_F64_AVX512_H
#define NNF_SIMD_F64_AVX512_H

#include "nnf/simd/f32_avx512.h"

enum { WIDE = 8, PARTS = 2 };

typedef __m512d D;

static inline D f64_all(double value) { return _mm512_set1_pd(value); }
static inline D f64_add(D a, D b) { return _mm512_add_pd(a, b); }
static inline D f64_sub(D a, D b) { return _mm512_sub_pd(a, b); }
static inline D f64_mul(D a, D b) { return _mm512_mul_pd(a, b); }
static inline D f64_divide(D a, D b) { return _mm512_div_pd(a, b); }
static inline D f64_fmadd(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
static inline D f64_root(D x) { return _mm512_sqrt_pd(x); }
/* a > b ? a : b and a < b ? a : b, so that a NaN on either side gives b. */
static inline D f64_larger(D a, D b) { return _mm512_max_pd(a, b); }
static inline D f64_smaller(D a, D b) { return _mm512_min_pd(a, b); }
static inline D f64_floor(D x) { return _mm512_floor_pd(x); }
/* The size of `size` with the sign of `sign`. */
static inline D f64_signed(D size, D sign)
{
    const D bit = f64_all(-0.0);
    return _mm512_or_pd(_mm512_andnot_pd(bit, size), _mm512_and_pd(bit, sign));
}

/* Of each lane yes where a < b, else no. */
static inline D f64_where_below(D a, D b, D yes, D no)
{
    return _mm512_mask_mov_pd(no, _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), yes);
}

static inline D f64_load_whole(const double *x) { return _mm512_loadu_pd(x); }
static inline void f64_store_whole(double *y, D value) { _mm512_storeu_pd(y, value); }
static inline __mmask8 f64_first(size_t count) { return count < WIDE ? (__mmask8)((1u << count) - 1) : (__mmask8)0xFF; }

/* The first `count`, and zeros behind them. */
static inline D f64_load(size_t count, const double *x)
{
    return count >= WIDE ? f64_load_whole(x) : _mm512_maskz_loadu_pd(f64_first(count), x);
}

static inline void f64_store(double *y, size_t count, D value)
{
    if (count >= WIDE)
        f64_store_whole(y, value);
    else
        _mm512_mask_storeu_pd(y, f64_first(count), value);
}

/* The first `count` floats, and zeros behind them. */
static inline D f64_widen(size_t count, const float *x)
{
    return _mm512_cvtps_pd(count >= WIDE ? _mm256_loadu_ps(x) : _mm256_maskz_loadu_ps(f64_first(count), x));
}

static inline void f64_narrow(float *y, size_t count, D value)
{
    if (count >= WIDE)
        _mm256_storeu_ps(y, _mm512_cvtpd_ps(value));
    else
        _mm256_mask_storeu_ps(y, f64_first(count), _mm512_cvtpd_ps(value));
}

/* Zeros behind the first `count`. */
static inline D f64_keep(size_t count, D value) { return _mm512_maskz_mov_pd(f64_first(count), value); }
static inline double f64_total(D x) { return _mm512_reduce_add_pd(x); }

static inline D f64_part(V x, int part)
{
    return _mm512_cvtps_pd(part ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x));
}

/* Integers of 32 bits as PARTS vectors, and back, cut off. */
static inline D f64_integers(__m512i x, int part)
{
    return _mm512_cvtepi32_pd(part ? _mm512_extracti32x8_epi32(x, 1) : _mm512_castsi512_si256(x));
}

static inline __m512i f64_cut(const D *parts)
{
    const __m512i low = _mm512_castsi256_si512(_mm512_cvttpd_epi32(parts[0]));
    return _mm512_inserti32x8(low, _mm512_cvttpd_epi32(parts[1]), 1);
}

static inline V f64_floats(const D *parts)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(parts[0])), _mm512_cvtpd_ps(parts[1]), 1);
}

#endif
