#include "normalization.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* Ones in the first `count` of 4 lanes: as floats, and as doubles. */
INLINE __m128i first(size_t count)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32(count < 4 ? (int)count : 4), _mm_setr_epi32(0, 1, 2, 3));
}

INLINE __m256i wide(__m128i live)
{
    return _mm256_cvtepi32_epi64(live);
}

INLINE __m256d load(const float *x, __m128i live)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(x, live));
}

INLINE void store(float *y, __m128i live, __m256d value)
{
    _mm_maskstore_ps(y, live, _mm256_cvtpd_ps(value));
}

INLINE double total_of(__m256d a, __m256d b)
{
    a = _mm256_add_pd(a, b);
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

void nnf_l2_norm_f32_rows__avx2_8(size_t n, const float *x, float *y)
{
    __m256d sum[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    for (size_t i = 0; i < n; i += 4) {
        const __m256d value = load(x + i, first(n - i));
        sum[i / 4 % 2] = _mm256_fmadd_pd(value, value, sum[i / 4 % 2]);
    }
    const double root = sqrt(total_of(sum[0], sum[1])), norm = root < 1e-6 ? 1e-6 : root;
    const __m256d inverse = _mm256_set1_pd(1 / norm);
    for (size_t i = 0; i < n; i += 4)
        store(y + i, first(n - i), _mm256_mul_pd(load(x + i, first(n - i)), inverse));
}

void nnf_lrn_f32_rows__avx2_4(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    if (p->beta != 0.5 && p->beta != 0.75 && p->beta != 1.0) {
        nnf_lrn_f32_rows__scalar(p, n, x, y, sums);
        return;
    }
    double *block = sums, *total = sums + n + 2 * p->radius;
    size_t width = n + 2 * p->radius, start = 0, size = 1;
    memset(sums, 0, 2 * (n + p->radius) * sizeof *sums);
    for (size_t i = 0; i < n; i += 4) {
        const __m256d value = load(x + i, first(n - i));
        _mm256_maskstore_pd(block + p->radius + i, wide(first(n - i)), _mm256_mul_pd(value, value));
    }
    for (size_t left = 2 * p->radius + 1; left; left >>= 1, size *= 2) {
        if (left & 1) {
            for (size_t i = 0; i < n; i += 4) {
                const __m128i live = first(n - i);
                const __m256d more = _mm256_maskload_pd(block + start + i, wide(live));
                const __m256d sum = _mm256_add_pd(_mm256_maskload_pd(total + i, wide(live)), more);
                _mm256_maskstore_pd(total + i, wide(live), sum);
            }
            start += size;
        }
        if (left > 1) {
            width -= size;
            for (size_t i = 0; i < width; i += 4) {
                const __m128i live = first(width - i);
                const __m256d more = _mm256_maskload_pd(block + size + i, wide(live));
                const __m256d sum = _mm256_add_pd(_mm256_maskload_pd(block + i, wide(live)), more);
                _mm256_maskstore_pd(block + i, wide(live), sum);
            }
        }
    }
    const __m256d bias = _mm256_set1_pd(p->bias), alpha = _mm256_set1_pd(p->alpha);
    for (size_t i = 0; i < n; i += 4) {
        const __m128i live = first(n - i);
        /* Without FMA, and with a positive zero: what is left of a cancellation decides. */
        __m256d base = _mm256_mul_pd(alpha, _mm256_maskload_pd(total + i, wide(live)));
        base = _mm256_add_pd(_mm256_add_pd(bias, base), _mm256_setzero_pd());
        const __m256d root = _mm256_sqrt_pd(base);
        if (p->beta == 0.5)
            base = root;
        else if (p->beta == 0.75)
            base = _mm256_mul_pd(root, _mm256_sqrt_pd(root));
        store(y + i, live, _mm256_mul_pd(load(x + i, live), _mm256_div_pd(_mm256_set1_pd(1), base)));
    }
}

/* 4 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void columns(const nnf_instance_norm *p, const int vectors, __m128i live, const float *x, float *y)
{
    const __m256d pixels = _mm256_set1_pd((double)p->pixels);
    __m256d mean[2], square[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
        mean[v] = square[v] = _mm256_setzero_pd();
    for (size_t i = 0; i < p->pixels; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            mean[v] = _mm256_add_pd(mean[v], load(x + i * p->stride + 4 * v, live));
    }
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
        mean[v] = _mm256_div_pd(mean[v], pixels);
    for (size_t i = 0; i < p->pixels; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const __m256d centred = _mm256_sub_pd(load(x + i * p->stride + 4 * v, live), mean[v]);
            square[v] = _mm256_fmadd_pd(centred, centred, square[v]);
        }
    }
    const __m256d epsilon = _mm256_set1_pd(p->epsilon), beta = _mm256_set1_pd(p->beta);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        const __m256d spread = _mm256_sqrt_pd(_mm256_add_pd(_mm256_div_pd(square[v], pixels), epsilon));
        square[v] = _mm256_div_pd(_mm256_set1_pd(p->gamma), spread);
    }
    for (size_t i = 0; i < p->pixels; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const __m256d centred = _mm256_sub_pd(load(x + i * p->stride + 4 * v, live), mean[v]);
            store(y + i * p->stride + 4 * v, live, _mm256_fmadd_pd(centred, square[v], beta));
        }
    }
}

void nnf_instance_norm_f32_nhwc__avx2_8(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    size_t c = 0;
    for (; c + 8 <= n; c += 8)
        columns(p, 2, first(4), x + c, y + c);
    for (; c < n; c += 4)
        columns(p, 1, first(n - c), x + c, y + c);
}

void nnf_instance_norm_f32_nchw__avx2_8(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    __m256d sum[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    for (size_t i = 0; i < p->pixels; i += 4)
        sum[i / 4 % 2] = _mm256_add_pd(sum[i / 4 % 2], load(x + i, first(p->pixels - i)));
    const double count = (double)p->pixels, average = total_of(sum[0], sum[1]) / count;
    const __m256d mean = _mm256_set1_pd(average), beta = _mm256_set1_pd(p->beta);
    sum[0] = sum[1] = _mm256_setzero_pd();
    for (size_t i = 0; i < p->pixels; i += 4) {
        const __m128i live = first(p->pixels - i);
        const __m256d centred = _mm256_and_pd(_mm256_sub_pd(load(x + i, live), mean), _mm256_castsi256_pd(wide(live)));
        sum[i / 4 % 2] = _mm256_fmadd_pd(centred, centred, sum[i / 4 % 2]);
    }
    const double variance = total_of(sum[0], sum[1]) / count;
    const __m256d factor = _mm256_set1_pd(p->gamma / sqrt(variance + p->epsilon));
    for (size_t i = 0; i < p->pixels; i += 4) {
        const __m128i live = first(p->pixels - i);
        store(y + i, live, _mm256_fmadd_pd(_mm256_sub_pd(load(x + i, live), mean), factor, beta));
    }
}
