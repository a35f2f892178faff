#include "normalization.h"

#include <immintrin.h>

enum { WIDE = 4 };

typedef __m256d D;
typedef __m128i L; /* all ones in the lanes that count, as floats */

static inline L lanes(size_t count)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32(count < WIDE ? (int)count : WIDE), _mm_setr_epi32(0, 1, 2, 3));
}

static inline __m256i as_doubles(L live)
{
    return _mm256_cvtepi32_epi64(live);
}

static inline D widen(L live, const float *x)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(x, live));
}

static inline void narrow(float *y, L live, D value)
{
    _mm_maskstore_ps(y, live, _mm256_cvtpd_ps(value));
}

static inline D take(L live, const double *x)
{
    return _mm256_maskload_pd(x, as_doubles(live));
}

static inline void put(double *y, L live, D value)
{
    _mm256_maskstore_pd(y, as_doubles(live), value);
}

static inline D keep(L live, D value)
{
    return _mm256_and_pd(value, _mm256_castsi256_pd(as_doubles(live)));
}

static inline double total(D x)
{
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

static inline D all(double x)
{
    return _mm256_set1_pd(x);
}

static inline D add(D a, D b)
{
    return _mm256_add_pd(a, b);
}

static inline D sub(D a, D b)
{
    return _mm256_sub_pd(a, b);
}

static inline D mul(D a, D b)
{
    return _mm256_mul_pd(a, b);
}

static inline D divide(D a, D b)
{
    return _mm256_div_pd(a, b);
}

/* a b + c */
static inline D fmadd(D a, D b, D c)
{
    return _mm256_fmadd_pd(a, b, c);
}

static inline D root(D x)
{
    return _mm256_sqrt_pd(x);
}

#include "normalization/normalization_simd.h"

void nnf_l2_norm_f32_rows__avx2_8(size_t n, const float *x, float *y)
{
    l2_norm(n, x, y);
}

void nnf_lrn_f32_rows__avx2_4(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    lrn(p, n, x, y, sums);
}

void nnf_instance_norm_f32_nhwc__avx2_8(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    instance_norm_nhwc(p, n, x, y);
}

void nnf_instance_norm_f32_nchw__avx2_8(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    instance_norm_nchw(p, x, y);
}
