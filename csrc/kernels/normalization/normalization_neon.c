#include "normalization.h"

#include <math.h>
#include <string.h>

#include "nnf/partial_neon.h"

#define INLINE static inline __attribute__((always_inline))

/* Four values as doubles. */
typedef struct quad {
    float64x2_t low, high;
} quad;

INLINE quad widen(float32x4_t x)
{
    return (quad){vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)};
}

INLINE float32x4_t narrow(quad x)
{
    return vcvt_high_f32_f64(vcvt_f32_f64(x.low), x.high);
}

INLINE quad all(double x)
{
    return (quad){vdupq_n_f64(x), vdupq_n_f64(x)};
}

INLINE quad add(quad a, quad b)
{
    return (quad){vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)};
}

INLINE quad sub(quad a, quad b)
{
    return (quad){vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)};
}

/* a b + c */
INLINE quad fmadd(quad a, quad b, quad c)
{
    return (quad){vfmaq_f64(c.low, a.low, b.low), vfmaq_f64(c.high, a.high, b.high)};
}

INLINE double total_of(quad x)
{
    return vaddvq_f64(vaddq_f64(x.low, x.high));
}

void nnf_l2_norm_f32_rows__neon_4(size_t n, const float *x, float *y)
{
    quad sum = all(0);
    for (size_t i = 0; i < n; i += 4) {
        const quad value = widen(nnf_load_f32_neon(x + i, n - i));
        sum = fmadd(value, value, sum);
    }
    const double root = sqrt(total_of(sum)), inverse = 1 / (root < 1e-6 ? 1e-6 : root);
    for (size_t i = 0; i < n; i += 4) {
        const quad value = widen(nnf_load_f32_neon(x + i, n - i));
        const quad scaled = {vmulq_n_f64(value.low, inverse), vmulq_n_f64(value.high, inverse)};
        nnf_store_f32_neon(y + i, narrow(scaled), n - i);
    }
}

/* to[i] += from[i]; from may lie behind to. */
INLINE void add_up(size_t n, double *to, const double *from)
{
    size_t i = 0;
    for (; i + 2 <= n; i += 2)
        vst1q_f64(to + i, vaddq_f64(vld1q_f64(to + i), vld1q_f64(from + i)));
    if (i < n)
        to[i] += from[i];
}

/* Two values from their sums of squares. */
INLINE float32x2_t response(const nnf_lrn *p, float32x2_t x, float64x2_t sum)
{
    /* Without FMA, and with a positive zero: what is left of a cancellation decides. */
    float64x2_t base = vaddq_f64(vdupq_n_f64(p->bias), vmulq_n_f64(sum, p->alpha));
    base = vaddq_f64(base, vdupq_n_f64(0));
    const float64x2_t root = vsqrtq_f64(base);
    if (p->beta == 0.5)
        base = root;
    else if (p->beta == 0.75)
        base = vmulq_f64(root, vsqrtq_f64(root));
    return vcvt_f32_f64(vmulq_f64(vcvt_f64_f32(x), vdivq_f64(vdupq_n_f64(1), base)));
}

void nnf_lrn_f32_rows__neon_2(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    if (p->beta != 0.5 && p->beta != 0.75 && p->beta != 1.0) {
        nnf_lrn_f32_rows__scalar(p, n, x, y, sums);
        return;
    }
    double *block = sums, *total = sums + n + 2 * p->radius;
    size_t width = n + 2 * p->radius, start = 0, size = 1, i;
    memset(sums, 0, 2 * (n + p->radius) * sizeof *sums);
    for (i = 0; i < n; i++)
        block[p->radius + i] = (double)x[i] * x[i];
    for (size_t left = 2 * p->radius + 1; left; left >>= 1, size *= 2) {
        if (left & 1) {
            add_up(n, total, block + start);
            start += size;
        }
        if (left > 1) {
            width -= size;
            add_up(width, block, block + size);
        }
    }
    for (i = 0; i + 2 <= n; i += 2)
        vst1_f32(y + i, response(p, vld1_f32(x + i), vld1q_f64(total + i)));
    if (i < n)
        vst1_lane_f32(y + i, response(p, vdup_n_f32(x[i]), vdupq_n_f64(total[i])), 0);
}

/* Four channels, or fewer. */
INLINE void columns(const nnf_instance_norm *p, size_t channels, const float *x, float *y)
{
    const double pixels = (double)p->pixels;
    quad mean = all(0), square = all(0);
    for (size_t i = 0; i < p->pixels; i++)
        mean = add(mean, widen(nnf_load_f32_neon(x + i * p->stride, channels)));
    mean = (quad){vdivq_f64(mean.low, vdupq_n_f64(pixels)), vdivq_f64(mean.high, vdupq_n_f64(pixels))};
    for (size_t i = 0; i < p->pixels; i++) {
        const quad centred = sub(widen(nnf_load_f32_neon(x + i * p->stride, channels)), mean);
        square = fmadd(centred, centred, square);
    }
    const float64x2_t gamma = vdupq_n_f64(p->gamma), epsilon = vdupq_n_f64(p->epsilon), count = vdupq_n_f64(pixels);
    const quad factor = {vdivq_f64(gamma, vsqrtq_f64(vaddq_f64(vdivq_f64(square.low, count), epsilon))),
                         vdivq_f64(gamma, vsqrtq_f64(vaddq_f64(vdivq_f64(square.high, count), epsilon)))};
    for (size_t i = 0; i < p->pixels; i++) {
        const quad centred = sub(widen(nnf_load_f32_neon(x + i * p->stride, channels)), mean);
        nnf_store_f32_neon(y + i * p->stride, narrow(fmadd(centred, factor, all(p->beta))), channels);
    }
}

void nnf_instance_norm_f32_nhwc__neon_4(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    size_t c = 0;
    for (; c + 4 <= n; c += 4)
        columns(p, 4, x + c, y + c);
    if (c < n)
        columns(p, n - c, x + c, y + c);
}

void nnf_instance_norm_f32_nchw__neon_4(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    const size_t whole = p->pixels / 4 * 4;
    quad sum = all(0);
    double rest = 0;
    for (size_t i = 0; i < p->pixels; i += 4)
        sum = add(sum, widen(nnf_load_f32_neon(x + i, p->pixels - i)));
    const double count = (double)p->pixels, average = total_of(sum) / count;
    const quad mean = all(average);
    sum = all(0);
    for (size_t i = 0; i < whole; i += 4) {
        const quad centred = sub(widen(vld1q_f32(x + i)), mean);
        sum = fmadd(centred, centred, sum);
    }
    for (size_t i = whole; i < p->pixels; i++)
        rest += (x[i] - average) * (x[i] - average);
    const double variance = (total_of(sum) + rest) / count;
    const quad factor = all(p->gamma / sqrt(variance + p->epsilon)), beta = all(p->beta);
    for (size_t i = 0; i < p->pixels; i += 4) {
        const quad centred = sub(widen(nnf_load_f32_neon(x + i, p->pixels - i)), mean);
        nnf_store_f32_neon(y + i, narrow(fmadd(centred, factor, beta)), p->pixels - i);
    }
}
