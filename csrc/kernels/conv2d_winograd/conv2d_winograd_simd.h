/* The two transforms of Winograd's method in vectors of channels. Include after nnf/simd/f32_<isa>.h and KERNEL. */
#ifndef NNF_CONV2D_WINOGRAD_SIMD_H
#define NNF_CONV2D_WINOGRAD_SIMD_H

#include <stdbool.h>

#include "conv2d_winograd/conv2d_winograd.h"
#include "nnf/unroll.h"

enum { IN = NNF_WINOGRAD_IN, OUT = NNF_WINOGRAD_OUT };

/* Six vectors `step` apart, transformed in place. */
INLINE void input_line(V *d, const int step)
{
    const V half = all(0.5f), two = all(2), more = all(2.5f), a = all(NNF_WINOGRAD_A), b = all(NNF_WINOGRAD_B);
    const V d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    const V even_a = fnmadd(two, d2, d4), odd_a = fnmadd(two, d1, d3);
    const V even_b = fnmadd(half, d2, d4), odd_b = fnmadd(half, d1, d3);
    d[0] = fnmadd(more, d2, add(d[0], d4));
    d[step] = fmadd(a, odd_a, even_a);
    d[2 * step] = fnmadd(a, odd_a, even_a);
    d[3 * step] = fmadd(b, odd_b, even_b);
    d[4 * step] = fnmadd(b, odd_b, even_b);
    d[5 * step] = fnmadd(more, d3, add(d1, d[5 * step]));
}

/* Likewise six vectors to four, in the places of the first four. */
INLINE void output_line(V *m, const int step)
{
    const V s = add(m[step], m[2 * step]), t = sub(m[step], m[2 * step]);
    const V p = add(m[3 * step], m[4 * step]), q = sub(m[3 * step], m[4 * step]);
    m[0] = add(add(m[0], s), p);
    m[step] = fmadd(all(NNF_WINOGRAD_A), t, mul(all(NNF_WINOGRAD_B), q));
    m[2 * step] = fmadd(all(0.5f), s, mul(all(2), p));
    m[3 * step] = fmadd(all(NNF_WINOGRAD_A3), t, fmadd(all(NNF_WINOGRAD_B3), q, m[5 * step]));
}

/* The channels of `live`. lines: of inputs, IN or 1; whole: every one is inside. */
INLINE void input_block(const nnf_winograd_patch *p, const float *x, float *v, M live, const size_t lines, bool whole)
{
    const size_t row = p->row, pixel = p->pixel, stride = p->stride;
    V d[IN * IN];
    for (size_t j = 0; j < IN; j++, x += pixel) {
        NNF_UNROLL
        for (size_t i = 0; i < lines; i++) {
            const bool inside = whole || (i >= p->top && i < p->bottom && j >= p->left && j < p->right);
            d[i * IN + j] = inside ? load(live, x + i * row) : zero();
        }
        if (lines == IN)
            input_line(d + j, IN);
    }
    for (size_t i = 0; i < lines; i++) {
        input_line(d + i * IN, 1);
        NNF_UNROLL
        for (size_t j = 0; j < IN; j++, v += stride)
            store(v, live, d[i * IN + j]);
    }
}

INLINE void input_patch(const nnf_winograd_patch *p, const float *x, float *v, const size_t lines)
{
    size_t c = 0;
    if (p->top == 0 && p->left == 0 && p->bottom == lines && p->right == IN) {
        for (; c + LANES <= p->channels; c += LANES)
            input_block(p, x + c, v + c, first_lanes(LANES), lines, true);
    }
    for (; c < p->channels; c += LANES)
        input_block(p, x + c, v + c, first_lanes(p->channels - c), lines, false);
}

void KERNEL(nnf_conv2d_winograd_input_f32_nhwc)(const nnf_winograd_patch *p, const float *x, float *v)
{
    if (p->is_line)
        input_patch(p, x, v, 1);
    else
        input_patch(p, x, v, IN);
}

/* The channels of `live`; adds outputs times 0 to `sum`: 0, or NaN where one is not finite. lines: as above. */
INLINE V output_block(const nnf_winograd_result *p, const float *m, const float *bias, float *y, M live, V sum,
                      const size_t lines)
{
    const V lo = all(p->lo), hi = all(p->hi), offset = load(live, bias);
    const size_t row = p->row, pixel = p->pixel, stride = p->stride, height = p->height, width = p->width;
    V d[IN * IN];
    for (size_t j = 0; j < IN; j++, m += stride) {
        NNF_UNROLL
        for (size_t i = 0; i < lines; i++)
            d[i * IN + j] = load(live, m + i * IN * stride);
        if (lines == IN)
            output_line(d + j, IN);
    }
    for (size_t i = 0; i < (lines == IN ? OUT : 1); i++) {
        output_line(d + i * IN, 1);
        NNF_UNROLL
        for (size_t j = 0; j < OUT; j++) {
            sum = fmadd(d[i * IN + j], zero(), sum);
            if (i < height && j < width)
                store(y + i * row + j * pixel, live, between(lo, hi, add(d[i * IN + j], offset)));
        }
    }
    return sum;
}

INLINE int output_patch(const nnf_winograd_result *p, const float *m, const float *bias, float *y, const size_t lines)
{
    V sum = zero();
    size_t c = 0;
    for (; c + LANES <= p->channels; c += LANES)
        sum = output_block(p, m + c, bias + c, y + c, first_lanes(LANES), sum, lines);
    if (c < p->channels)
        sum = output_block(p, m + c, bias + c, y + c, first_lanes(p->channels - c), sum, lines);
    return !has_nan(sum);
}

int KERNEL(nnf_conv2d_winograd_output_f32_nhwc)(const nnf_winograd_result *p, const float *m, const float *bias,
                                                float *y)
{
    return p->is_line ? output_patch(p, m, bias, y, 1) : output_patch(p, m, bias, y, IN);
}

#endif
