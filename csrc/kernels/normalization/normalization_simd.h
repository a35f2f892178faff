/* Normalisations in vectors of doubles. Include after what gives these their meaning for a level:
 *   D, WIDE        a vector of WIDE doubles
 *   L, lanes(n)    which lanes count: the first n, or all where n is larger
 *   widen, narrow  floats to doubles and back, in the lanes that count; zeros in the others
 *   take, put      doubles, likewise
 *   keep           zeros outside the lanes that count */
#ifndef NNF_NORMALIZATION_SIMD_H
#define NNF_NORMALIZATION_SIMD_H

#include <math.h>
#include <string.h>

#include "normalization/normalization.h"
#include "nnf/unroll.h"

static inline void l2_norm(size_t n, const float *x, float *y)
{
    D sum[2] = {all(0), all(0)};
    for (size_t i = 0; i < n; i += WIDE) {
        const D value = widen(lanes(n - i), x + i);
        sum[i / WIDE % 2] = fmadd(value, value, sum[i / WIDE % 2]);
    }
    const double root = sqrt(total(add(sum[0], sum[1])));
    const D inverse = all(1 / (root < 1e-6 ? 1e-6 : root));
    for (size_t i = 0; i < n; i += WIDE)
        narrow(y + i, lanes(n - i), mul(widen(lanes(n - i), x + i), inverse));
}

/* to[i] += from[i]; from may lie behind to. */
static inline void add_up(size_t n, double *to, const double *from)
{
    for (size_t i = 0; i < n; i += WIDE) {
        const D more = take(lanes(n - i), from + i);
        put(to + i, lanes(n - i), add(take(lanes(n - i), to + i), more));
    }
}

static inline void lrn(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    if (p->beta != 0.5 && p->beta != 0.75 && p->beta != 1.0) {
        nnf_lrn_f32_rows__scalar(p, n, x, y, sums);
        return;
    }
    double *block = sums, *sum = sums + n + 2 * p->radius;
    size_t width = n + 2 * p->radius, start = 0, size = 1;
    memset(sums, 0, 2 * (n + p->radius) * sizeof *sums);
    for (size_t i = 0; i < n; i += WIDE) {
        const D value = widen(lanes(n - i), x + i);
        put(block + p->radius + i, lanes(n - i), mul(value, value));
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
    const D bias = all(p->bias), alpha = all(p->alpha);
    for (size_t i = 0; i < n; i += WIDE) {
        const L live = lanes(n - i);
        /* Without FMA, and with a positive zero: what is left of a cancellation decides. */
        D base = add(add(bias, mul(alpha, take(live, sum + i))), all(0));
        const D once = root(base);
        if (p->beta == 0.5)
            base = once;
        else if (p->beta == 0.75)
            base = mul(once, root(once));
        narrow(y + i, live, mul(widen(live, x + i), divide(all(1), base)));
    }
}

/* WIDE channels in each of `vectors`; only a single vector may have fewer. */
static inline __attribute__((always_inline)) void columns(const nnf_instance_norm *p, const int vectors, L live,
                                                          const float *x, float *y)
{
    const D pixels = all((double)p->pixels), epsilon = all(p->epsilon), beta = all(p->beta);
    D mean[2], square[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        mean[v] = square[v] = all(0);
    for (size_t i = 0; i < p->pixels; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            mean[v] = add(mean[v], widen(live, x + i * p->stride + WIDE * v));
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        mean[v] = divide(mean[v], pixels);
    for (size_t i = 0; i < p->pixels; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const D centred = sub(widen(live, x + i * p->stride + WIDE * v), mean[v]);
            square[v] = fmadd(centred, centred, square[v]);
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        square[v] = divide(all(p->gamma), root(add(divide(square[v], pixels), epsilon)));
    for (size_t i = 0; i < p->pixels; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const D centred = sub(widen(live, x + i * p->stride + WIDE * v), mean[v]);
            narrow(y + i * p->stride + WIDE * v, live, fmadd(centred, square[v], beta));
        }
    }
}

static inline void instance_norm_nhwc(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    size_t c = 0;
    for (; c + 2 * WIDE <= n; c += 2 * WIDE)
        columns(p, 2, lanes(WIDE), x + c, y + c);
    for (; c < n; c += WIDE)
        columns(p, 1, lanes(n - c), x + c, y + c);
}

static inline void instance_norm_nchw(const nnf_instance_norm *p, const float *x, float *y)
{
    const size_t n = p->pixels;
    D sum[2] = {all(0), all(0)};
    for (size_t i = 0; i < n; i += WIDE)
        sum[i / WIDE % 2] = add(sum[i / WIDE % 2], widen(lanes(n - i), x + i));
    const D mean = all(total(add(sum[0], sum[1])) / (double)n), beta = all(p->beta);
    sum[0] = sum[1] = all(0);
    for (size_t i = 0; i < n; i += WIDE) {
        const D centred = keep(lanes(n - i), sub(widen(lanes(n - i), x + i), mean));
        sum[i / WIDE % 2] = fmadd(centred, centred, sum[i / WIDE % 2]);
    }
    const double variance = total(add(sum[0], sum[1])) / (double)n;
    const D factor = all(p->gamma / sqrt(variance + p->epsilon));
    for (size_t i = 0; i < n; i += WIDE)
        narrow(y + i, lanes(n - i), fmadd(sub(widen(lanes(n - i), x + i), mean), factor, beta));
}

#endif
