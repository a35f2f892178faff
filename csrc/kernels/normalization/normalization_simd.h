/* Normalisations in vectors of doubles. Include after nnf/simd/f64_<isa>.h and KERNEL. */
#ifndef NNF_NORMALIZATION_SIMD_H
#define NNF_NORMALIZATION_SIMD_H

#include <math.h>
#include <string.h>

#include "nnf/unroll.h"
#include "normalization/normalization.h"

void KERNEL(nnf_l2_norm_f32_rows)(size_t n, const float *x, float *y)
{
    D sum[2] = {f64_all(0), f64_all(0)};
    size_t i = 0;
    for (; i + 2 * WIDE <= n; i += 2 * WIDE) {
        const D first = f64_widen(WIDE, x + i), second = f64_widen(WIDE, x + i + WIDE);
        sum[0] = f64_fmadd(first, first, sum[0]);
        sum[1] = f64_fmadd(second, second, sum[1]);
    }
    for (; i < n; i += WIDE) {
        const D value = f64_widen(n - i, x + i);
        sum[0] = f64_fmadd(value, value, sum[0]);
    }
    const double root = sqrt(f64_total(f64_add(sum[0], sum[1])));
    const D inverse = f64_all(1 / (root < 1e-6 ? 1e-6 : root));
    for (i = 0; i + WIDE <= n; i += WIDE)
        f64_narrow(y + i, WIDE, f64_mul(f64_widen(WIDE, x + i), inverse));
    if (i < n)
        f64_narrow(y + i, n - i, f64_mul(f64_widen(n - i, x + i), inverse));
}

/* to[i] += from[i]; from may lie behind to. */
INLINE void add_up(size_t n, double *to, const double *from)
{
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE)
        f64_store_whole(to + i, f64_add(f64_load_whole(to + i), f64_load_whole(from + i)));
    if (i < n)
        f64_store(to + i, n - i, f64_add(f64_load(n - i, to + i), f64_load(n - i, from + i)));
}

void KERNEL_DOUBLES(nnf_lrn_f32_rows)(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    if (p->beta != 0.5 && p->beta != 0.75 && p->beta != 1.0) {
        nnf_lrn_f32_rows__scalar(p, n, x, y, sums);
        return;
    }
    double *block = sums, *sum = sums + n + 2 * p->radius;
    size_t width = n + 2 * p->radius, start = 0, size = 1;
    memset(sums, 0, 2 * (n + p->radius) * sizeof *sums);
    for (size_t i = 0; i < n; i += WIDE) {
        const D value = f64_widen(n - i, x + i);
        f64_store(block + p->radius + i, n - i, f64_mul(value, value));
    }
    for (size_t left = 2 * p->radius + 1; left; left >>= 1, size *= 2) {
        if (left & 1) {
            add_up(n, sum, block + start);
            start += size;
        }
        if (left > 1) {
            width -= size;
            add_up(width, block, block + size);
        }
    }
    const D bias = f64_all(p->bias), alpha = f64_all(p->alpha);
    for (size_t i = 0; i < n; i += WIDE) {
        /* Without FMA, and with a positive zero: what is left of a cancellation decides. */
        D base = f64_add(f64_add(bias, f64_mul(alpha, f64_load(n - i, sum + i))), f64_all(0));
        const D once = f64_root(base);
        if (p->beta == 0.5)
            base = once;
        else if (p->beta == 0.75)
            base = f64_mul(once, f64_root(once));
        f64_narrow(y + i, n - i, f64_mul(f64_widen(n - i, x + i), f64_divide(f64_all(1), base)));
    }
}

/* WIDE channels in each of `vectors`; only a single vector may have fewer. */
INLINE void columns(const nnf_instance_norm *p, const int vectors, size_t live,
                                                          const float *x, float *y)
{
    const D pixels = f64_all((double)p->pixels), epsilon = f64_all(p->epsilon), beta = f64_all(p->beta);
    D mean[2], square[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        mean[v] = square[v] = f64_all(0);
    for (size_t i = 0; i < p->pixels; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            mean[v] = f64_add(mean[v], f64_widen(live, x + i * p->stride + WIDE * v));
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        mean[v] = f64_divide(mean[v], pixels);
    for (size_t i = 0; i < p->pixels; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const D centred = f64_sub(f64_widen(live, x + i * p->stride + WIDE * v), mean[v]);
            square[v] = f64_fmadd(centred, centred, square[v]);
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        square[v] = f64_divide(f64_all(p->gamma), f64_root(f64_add(f64_divide(square[v], pixels), epsilon)));
    for (size_t i = 0; i < p->pixels; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const D centred = f64_sub(f64_widen(live, x + i * p->stride + WIDE * v), mean[v]);
            f64_narrow(y + i * p->stride + WIDE * v, live, f64_fmadd(centred, square[v], beta));
        }
    }
}

void KERNEL(nnf_instance_norm_f32_nhwc)(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    size_t c = 0;
    for (; c + 2 * WIDE <= n; c += 2 * WIDE)
        columns(p, 2, WIDE, x + c, y + c);
    for (; c + WIDE <= n; c += WIDE)
        columns(p, 1, WIDE, x + c, y + c);
    if (c < n)
        columns(p, 1, n % WIDE, x + c, y + c); /* known to be less than WIDE: no question in its loops */
}

INLINE void instance_norm_nchw(const nnf_instance_norm *p, const float *x, float *y)
{
    const size_t n = p->pixels;
    D sum[2] = {f64_all(0), f64_all(0)};
    size_t i = 0;
    for (; i + 2 * WIDE <= n; i += 2 * WIDE) {
        sum[0] = f64_add(sum[0], f64_widen(WIDE, x + i));
        sum[1] = f64_add(sum[1], f64_widen(WIDE, x + i + WIDE));
    }
    for (; i < n; i += WIDE)
        sum[0] = f64_add(sum[0], f64_widen(n - i, x + i));
    const D mean = f64_all(f64_total(f64_add(sum[0], sum[1])) / (double)n), beta = f64_all(p->beta);
    sum[0] = sum[1] = f64_all(0);
    for (i = 0; i + 2 * WIDE <= n; i += 2 * WIDE) {
        const D first = f64_sub(f64_widen(WIDE, x + i), mean), second = f64_sub(f64_widen(WIDE, x + i + WIDE), mean);
        sum[0] = f64_fmadd(first, first, sum[0]);
        sum[1] = f64_fmadd(second, second, sum[1]);
    }
    for (; i < n; i += WIDE) {
        const D centred = f64_keep(n - i, f64_sub(f64_widen(n - i, x + i), mean));
        sum[0] = f64_fmadd(centred, centred, sum[0]);
    }
    const double variance = f64_total(f64_add(sum[0], sum[1])) / (double)n;
    const D factor = f64_all(p->gamma / sqrt(variance + p->epsilon));
    for (i = 0; i + WIDE <= n; i += WIDE)
        f64_narrow(y + i, WIDE, f64_fmadd(f64_sub(f64_widen(WIDE, x + i), mean), factor, beta));
    if (i < n)
        f64_narrow(y + i, n - i, f64_fmadd(f64_sub(f64_widen(n - i, x + i), mean), factor, beta));
}

void KERNEL(nnf_instance_norm_f32_nchw)(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    instance_norm_nchw(p, x, y);
}

#endif
