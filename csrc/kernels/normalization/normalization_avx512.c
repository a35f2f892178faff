#include "normalization.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __mmask8 first(size_t count)
{
    return count < 8 ? (__mmask8)((1u << count) - 1) : 0xFF;
}

INLINE __m512d load(const float *x, __mmask8 live)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(live, x));
}

INLINE void store(float *y, __mmask8 live, __m512d value)
{
    _mm256_mask_storeu_ps(y, live, _mm512_cvtpd_ps(value));
}

void nnf_l2_norm_f32_rows__avx512_16(size_t n, const float *x, float *y)
{
    __m512d sum[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    for (size_t i = 0; i < n; i += 8) {
        const __m512d value = load(x + i, first(n - i));
        sum[i / 8 % 2] = _mm512_fmadd_pd(value, value, sum[i / 8 % 2]);
    }
    const double root = sqrt(_mm512_reduce_add_pd(_mm512_add_pd(sum[0], sum[1]))), norm = root < 1e-6 ? 1e-6 : root;
    const __m512d inverse = _mm512_set1_pd(1 / norm);
    for (size_t i = 0; i < n; i += 8)
        store(y + i, first(n - i), _mm512_mul_pd(load(x + i, first(n - i)), inverse));
}

void nnf_lrn_f32_rows__avx512_8(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    if (p->beta != 0.5 && p->beta != 0.75 && p->beta != 1.0) {
        nnf_lrn_f32_rows__scalar(p, n, x, y, sums);
        return;
    }
    double *block = sums, *total = sums + n + 2 * p->radius;
    size_t width = n + 2 * p->radius, start = 0, size = 1;
    memset(sums, 0, 2 * (n + p->radius) * sizeof *sums);
    for (size_t i = 0; i < n; i += 8) {
        const __m512d value = load(x + i, first(n - i));
        _mm512_mask_storeu_pd(block + p->radius + i, first(n - i), _mm512_mul_pd(value, value));
    }
    for (size_t left = 2 * p->radius + 1; left; left >>= 1, size *= 2) {
        if (left & 1) {
            for (size_t i = 0; i < n; i += 8) {
                const __mmask8 live = first(n - i);
                const __m512d more = _mm512_maskz_loadu_pd(live, block + start + i);
                _mm512_mask_storeu_pd(total + i, live, _mm512_add_pd(_mm512_maskz_loadu_pd(live, total + i), more));
            }
            start += size;
        }
        if (left > 1) {
            width -= size;
            for (size_t i = 0; i < width; i += 8) {
                const __mmask8 live = first(width - i);
                const __m512d more = _mm512_maskz_loadu_pd(live, block + size + i);
                _mm512_mask_storeu_pd(block + i, live, _mm512_add_pd(_mm512_maskz_loadu_pd(live, block + i), more));
            }
        }
    }
    const __m512d bias = _mm512_set1_pd(p->bias), alpha = _mm512_set1_pd(p->alpha);
    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 live = first(n - i);
        /* Without FMA, and with a positive zero: what is left of a cancellation decides. */
        __m512d base = _mm512_mul_pd(alpha, _mm512_maskz_loadu_pd(live, total + i));
        base = _mm512_add_pd(_mm512_add_pd(bias, base), _mm512_setzero_pd());
        const __m512d root = _mm512_sqrt_pd(base);
        if (p->beta == 0.5)
            base = root;
        else if (p->beta == 0.75)
            base = _mm512_mul_pd(root, _mm512_sqrt_pd(root));
        store(y + i, live, _mm512_mul_pd(load(x + i, live), _mm512_div_pd(_mm512_set1_pd(1), base)));
    }
}

/* 8 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void columns(const nnf_instance_norm *p, const int vectors, __mmask8 live, const float *x, float *y)
{
    const __m512d pixels = _mm512_set1_pd((double)p->pixels);
    __m512d mean[2], square[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
        mean[v] = square[v] = _mm512_setzero_pd();
    for (size_t i = 0; i < p->pixels; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            mean[v] = _mm512_add_pd(mean[v], load(x + i * p->stride + 8 * v, live));
    }
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
        mean[v] = _mm512_div_pd(mean[v], pixels);
    for (size_t i = 0; i < p->pixels; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const __m512d centred = _mm512_sub_pd(load(x + i * p->stride + 8 * v, live), mean[v]);
            square[v] = _mm512_fmadd_pd(centred, centred, square[v]);
        }
    }
    const __m512d epsilon = _mm512_set1_pd(p->epsilon), beta = _mm512_set1_pd(p->beta);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        const __m512d spread = _mm512_sqrt_pd(_mm512_add_pd(_mm512_div_pd(square[v], pixels), epsilon));
        square[v] = _mm512_div_pd(_mm512_set1_pd(p->gamma), spread);
    }
    for (size_t i = 0; i < p->pixels; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const __m512d centred = _mm512_sub_pd(load(x + i * p->stride + 8 * v, live), mean[v]);
            store(y + i * p->stride + 8 * v, live, _mm512_fmadd_pd(centred, square[v], beta));
        }
    }
}

void nnf_instance_norm_f32_nhwc__avx512_16(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    size_t c = 0;
    for (; c + 16 <= n; c += 16)
        columns(p, 2, 0xFF, x + c, y + c);
    for (; c < n; c += 8)
        columns(p, 1, first(n - c), x + c, y + c);
}

void nnf_instance_norm_f32_nchw__avx512_16(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    __m512d sum[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    for (size_t i = 0; i < p->pixels; i += 8)
        sum[i / 8 % 2] = _mm512_add_pd(sum[i / 8 % 2], load(x + i, first(p->pixels - i)));
    const double count = (double)p->pixels, average = _mm512_reduce_add_pd(_mm512_add_pd(sum[0], sum[1])) / count;
    const __m512d mean = _mm512_set1_pd(average), beta = _mm512_set1_pd(p->beta);
    sum[0] = sum[1] = _mm512_setzero_pd();
    for (size_t i = 0; i < p->pixels; i += 8) {
        const __mmask8 live = first(p->pixels - i);
        const __m512d centred = _mm512_maskz_sub_pd(live, load(x + i, live), mean);
        sum[i / 8 % 2] = _mm512_fmadd_pd(centred, centred, sum[i / 8 % 2]);
    }
    const double variance = _mm512_reduce_add_pd(_mm512_add_pd(sum[0], sum[1])) / count;
    const __m512d factor = _mm512_set1_pd(p->gamma / sqrt(variance + p->epsilon));
    for (size_t i = 0; i < p->pixels; i += 8) {
        const __mmask8 live = first(p->pixels - i);
        store(y + i, live, _mm512_fmadd_pd(_mm512_sub_pd(load(x + i, live), mean), factor, beta));
    }
}
