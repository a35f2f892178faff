#include "conv2d_winograd.h"

#include <math.h>

enum { IN = NNF_WINOGRAD_IN, OUT = NNF_WINOGRAD_OUT };

static const float a = NNF_WINOGRAD_A, b = NNF_WINOGRAD_B, a3 = NNF_WINOGRAD_A3, b3 = NNF_WINOGRAD_B3;

/* Six values `step` apart, transformed in place. */
static void input_line(float *d, size_t step)
{
    const float d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
    d[0] = d0 - 2.5f * d2 + d4;
    d[step] = d4 - 2 * d2 + a * (d3 - 2 * d1);
    d[2 * step] = d4 - 2 * d2 - a * (d3 - 2 * d1);
    d[3 * step] = d4 - 0.5f * d2 + b * (d3 - 0.5f * d1);
    d[4 * step] = d4 - 0.5f * d2 - b * (d3 - 0.5f * d1);
    d[5 * step] = d1 - 2.5f * d3 + d5;
}

/* Likewise six values to four, in the places of the first four. */
static void output_line(float *m, size_t step)
{
    const float s = m[step] + m[2 * step], t = m[step] - m[2 * step];
    const float p = m[3 * step] + m[4 * step], q = m[3 * step] - m[4 * step], m5 = m[5 * step];
    m[0] = m[0] + s + p;
    m[step] = a * t + b * q;
    m[2 * step] = 0.5f * s + 2 * p;
    m[3 * step] = a3 * t + b3 * q + m5;
}

void nnf_conv2d_winograd_input_f32_nhwc__scalar(const nnf_winograd_patch *p, const float *x, float *v)
{
    const size_t lines = p->is_line ? 1 : IN;
    for (size_t c = 0; c < p->channels; c++) {
        float d[IN * IN];
        for (size_t i = 0; i < lines; i++) {
            for (size_t j = 0; j < IN; j++) {
                const int inside = i >= p->top && i < p->bottom && j >= p->left && j < p->right;
                d[i * IN + j] = inside ? x[i * p->row + j * p->pixel + c] : 0;
            }
        }
        for (size_t j = 0; j < IN && !p->is_line; j++)
            input_line(d + j, IN);
        for (size_t i = 0; i < lines; i++)
            input_line(d + i * IN, 1);
        for (size_t k = 0; k < lines * IN; k++)
            v[k * p->stride + c] = d[k];
    }
}

int nnf_conv2d_winograd_output_f32_nhwc__scalar(const nnf_winograd_result *p, const float *m, const float *bias,
                                                float *y)
{
    const size_t lines = p->is_line ? 1 : OUT, products = nnf_winograd_products(p->is_line);
    int finite = 1;
    for (size_t c = 0; c < p->channels; c++) {
        float d[IN * IN];
        for (size_t k = 0; k < products; k++)
            d[k] = m[k * p->stride + c];
        for (size_t j = 0; j < IN && !p->is_line; j++)
            output_line(d + j, IN);
        for (size_t i = 0; i < lines; i++)
            output_line(d + i * IN, 1);
        for (size_t i = 0; i < lines; i++) {
            for (size_t j = 0; j < OUT; j++) {
                const float sum = d[i * IN + j] + bias[c];
                finite &= isfinite(d[i * IN + j]) != 0;
                if (i < p->height && j < p->width)
                    y[i * p->row + j * p->pixel + c] = sum < p->lo ? p->lo : sum > p->hi ? p->hi : sum;
            }
        }
    }
    return finite;
}
