#include "conv2d_winograd.h"

#include <stdbool.h>

#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

#define INLINE static inline __attribute__((always_inline))

enum { IN = NNF_WINOGRAD_IN, OUT = NNF_WINOGRAD_OUT, N = 4 };

/* Six vectors `step` apart, transformed in place. */
INLINE void input_line(float32x4_t *d, const int step)
{
    const float32x4_t half = vdupq_n_f32(0.5f), two = vdupq_n_f32(2), more = vdupq_n_f32(2.5f);
    const float32x4_t a = vdupq_n_f32(NNF_WINOGRAD_A), b = vdupq_n_f32(NNF_WINOGRAD_B);
    const float32x4_t d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    const float32x4_t even_a = vfmsq_f32(d4, two, d2), odd_a = vfmsq_f32(d3, two, d1);
    const float32x4_t even_b = vfmsq_f32(d4, half, d2), odd_b = vfmsq_f32(d3, half, d1);
    d[0] = vfmsq_f32(vaddq_f32(d[0], d4), more, d2);
    d[step] = vfmaq_f32(even_a, a, odd_a);
    d[2 * step] = vfmsq_f32(even_a, a, odd_a);
    d[3 * step] = vfmaq_f32(even_b, b, odd_b);
    d[4 * step] = vfmsq_f32(even_b, b, odd_b);
    d[5 * step] = vfmsq_f32(vaddq_f32(d1, d[5 * step]), more, d3);
}

/* Likewise six vectors to four, in the places of the first four. */
INLINE void output_line(float32x4_t *m, const int step)
{
    const float32x4_t s = vaddq_f32(m[step], m[2 * step]), t = vsubq_f32(m[step], m[2 * step]);
    const float32x4_t p = vaddq_f32(m[3 * step], m[4 * step]), q = vsubq_f32(m[3 * step], m[4 * step]);
    m[0] = vaddq_f32(vaddq_f32(m[0], s), p);
    m[step] = vfmaq_f32(vmulq_n_f32(q, NNF_WINOGRAD_B), vdupq_n_f32(NNF_WINOGRAD_A), t);
    m[2 * step] = vfmaq_f32(vmulq_n_f32(p, 2), vdupq_n_f32(0.5f), s);
    m[3 * step] = vfmaq_f32(m[5 * step], vdupq_n_f32(NNF_WINOGRAD_B3), q);
    m[3 * step] = vfmaq_f32(m[3 * step], vdupq_n_f32(NNF_WINOGRAD_A3), t);
}

/* Four channels, or the `live` that are left. whole: every input is inside. */
INLINE void input_block(const nnf_winograd_patch *p, const float *x, float *v, size_t live, bool whole)
{
    float32x4_t d[IN * IN];
    for (size_t j = 0; j < IN; j++) {
        NNF_UNROLL
        for (size_t i = 0; i < IN; i++) {
            const bool inside = whole || (i >= p->top && i < p->bottom && j >= p->left && j < p->right);
            d[i * IN + j] = inside ? nnf_load_f32_neon(x + i * p->row + j * p->pixel, live) : vdupq_n_f32(0);
        }
        input_line(d + j, IN);
    }
    for (size_t i = 0; i < IN; i++) {
        input_line(d + i * IN, 1);
        NNF_UNROLL
        for (size_t j = 0; j < IN; j++)
            nnf_store_f32_neon(v + (i * IN + j) * p->stride, d[i * IN + j], live);
    }
}

void nnf_conv2d_winograd_input_f32_nhwc__neon_4(const nnf_winograd_patch *p, const float *x, float *v)
{
    const bool whole = p->top == 0 && p->left == 0 && p->bottom == IN && p->right == IN;
    size_t c = 0;
    for (; whole && c + N <= p->channels; c += N)
        input_block(p, x + c, v + c, N, true);
    for (; c < p->channels; c += N)
        input_block(p, x + c, v + c, p->channels - c, false);
}

/* Four channels, or the `live` that are left; adds outputs times 0 to `sum`: 0, or NaN where one is not finite. */
INLINE float32x4_t output_block(const nnf_winograd_result *p, const float *m, const float *bias, float *y, size_t live,
                                float32x4_t sum)
{
    const float32x4_t lo = vdupq_n_f32(p->lo), hi = vdupq_n_f32(p->hi), offset = nnf_load_f32_neon(bias, live);
    float32x4_t d[IN * IN];
    for (size_t j = 0; j < IN; j++) {
        NNF_UNROLL
        for (size_t i = 0; i < IN; i++)
            d[i * IN + j] = nnf_load_f32_neon(m + (i * IN + j) * p->stride, live);
        output_line(d + j, IN);
    }
    for (size_t i = 0; i < OUT; i++) {
        output_line(d + i * IN, 1);
        NNF_UNROLL
        for (size_t j = 0; j < OUT; j++) {
            sum = vfmaq_f32(sum, d[i * IN + j], vdupq_n_f32(0));
            const float32x4_t z = vminq_f32(hi, vmaxq_f32(lo, vaddq_f32(d[i * IN + j], offset))); /* both keep a NaN */
            if (i < p->height && j < p->width)
                nnf_store_f32_neon(y + i * p->row + j * p->pixel, z, live);
        }
    }
    return sum;
}

int nnf_conv2d_winograd_output_f32_nhwc__neon_4(const nnf_winograd_result *p, const float *m, const float *bias,
                                                float *y)
{
    float32x4_t sum = vdupq_n_f32(0);
    size_t c = 0;
    for (; c + N <= p->channels; c += N)
        sum = output_block(p, m + c, bias + c, y + c, N, sum);
    if (c < p->channels)
        sum = output_block(p, m + c, bias + c, y + c, p->channels - c, sum);
    return vminvq_u32(vceqq_f32(sum, sum)) != 0;
}
