#include "normalization.h"

#include <immintrin.h>

enum { WIDE = 8 };

typedef __m512d D;
typedef __mmask8 L;

static inline L lanes(size_t count)
{
    return count < WIDE ? (L)((1u << count) - 1) : (L)0xFF;
}

static inline D widen(L live, const float *x)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(live, x));
}

static inline void narrow(float *y, L live, D value)
{
    _mm256_mask_storeu_ps(y, live, _mm512_cvtpd_ps(value));
}

static inline D take(L live, const double *x)
{
    return _mm512_maskz_loadu_pd(live, x);
}

static inline void put(double *y, L live, D value)
{
    _mm512_mask_storeu_pd(y, live, value);
}

static inline D keep(L live, D value)
{
    return _mm512_maskz_mov_pd(live, value);
}

static inline double total(D x)
{
    return _mm512_reduce_add_pd(x);
}

static inline D all(double x)
{
    return _mm512_set1_pd(x);
}

static inline D add(D a, D b)
{
    return _mm512_add_pd(a, b);
}

static inline D sub(D a, D b)
{
    return _mm512_sub_pd(a, b);
}

static inline D mul(D a, D b)
{
    return _mm512_mul_pd(a, b);
}

static inline D divide(D a, D b)
{
    return _mm512_div_pd(a, b);
}

/* a b + c */
static inline D fmadd(D a, D b, D c)
{
    return _mm512_fmadd_pd(a, b, c);
}

static inline D root(D x)
{
    return _mm512_sqrt_pd(x);
}

#include "normalization/normalization_simd.h"

void nnf_l2_norm_f32_rows__avx512_16(size_t n, const float *x, float *y)
{
    l2_norm(n, x, y);
}

void nnf_lrn_f32_rows__avx512_8(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    lrn(p, n, x, y, sums);
}

void nnf_instance_norm_f32_nhwc__avx512_16(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    instance_norm_nhwc(p, n, x, y);
}

void nnf_instance_norm_f32_nchw__avx512_16(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    instance_norm_nchw(p, x, y);
}
