#include "conv2d_q8_winograd.h"

#include "nnf/fixedpoint.h"

enum { PRODUCTS = NNF_WINOGRAD_Q8_IN * NNF_WINOGRAD_Q8_IN, N = 8 };

/* The inputs of a patch on a side, `step` apart, transformed in place. */
static void input_line(size_t out, int32_t *d, size_t step)
{
    const int32_t d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (out == NNF_WINOGRAD_Q8_2) {
        d[0] = d0 - d2;
        d[step] = d1 + d2;
        d[2 * step] = d2 - d1;
        d[3 * step] = d1 - d3;
    } else {
        const int32_t d4 = d[4 * step], d5 = d[5 * step];
        d[0] = 4 * d0 - 5 * d2 + d4;
        d[step] = 4 * d1 + 4 * d2 - d3 - d4;
        d[2 * step] = -4 * d1 + 4 * d2 + d3 - d4;
        d[3 * step] = -2 * d1 - d2 + 2 * d3 + d4;
        d[4 * step] = 2 * d1 - d2 - 2 * d3 + d4;
        d[5 * step] = 4 * d1 - 5 * d3 + d5;
    }
}

/* Likewise its products to outputs, in the places of the first ones. */
static void output_line(size_t out, uint32_t *m, size_t step)
{
    const uint32_t m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    if (out == NNF_WINOGRAD_Q8_2) {
        m[0] += m1 + m2;
        m[step] = m1 - m2 - m3;
    } else {
        const uint32_t m4 = m[4 * step], m5 = m[5 * step];
        m[0] = 2 * m[0] + 4 * (m1 + m2) + m3 + m4;
        m[step] = 4 * (m1 - m2) + 2 * (m3 - m4);
        m[2 * step] = 4 * (m1 + m2) + 4 * (m3 + m4);
        if (out == NNF_WINOGRAD_Q8_3)
            m[2 * step] += 8 * m5;
        else
            m[3 * step] = 4 * (m1 - m2) + 8 * (m3 - m4) + 8 * m5;
    }
}

/* An output without the scale that it got on the way: 4, or 9 * 64. */
static uint32_t unscaled(size_t out, uint32_t y)
{
    const uint32_t ninth = 0x38E38E39; /* modulo 2^32 */
    return (uint32_t)(out == NNF_WINOGRAD_Q8_2 ? (int32_t)y >> 2 : (int32_t)(y * ninth) >> 6);
}

static void transform(size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    const size_t pitch = nnf_winograd_q8_pitch(r->channels);
    const size_t in = nnf_winograd_q8_in(out), products = nnf_winograd_q8_products(out);
    for (size_t patch = 0; patch < r->patches; patch++) {
        for (size_t c = 0; c < pitch; c++) {
            int32_t d[PRODUCTS];
            for (size_t k = 0; k < products; k++) {
                const size_t i = k % in, j = out * patch + k / in;
                d[k] = c < r->channels ? r->pad : 0;
                if (c < r->channels && i >= r->top && i < r->bottom && j >= r->left && j < r->right) {
                    const uint8_t code = x[i * r->row + j * r->channels + c];
                    d[k] = r->is_signed ? (int8_t)code : code;
                }
            }
            for (size_t j = 0; j < in; j++)
                input_line(out, d + j, in);
            for (size_t i = 0; i < in; i++)
                input_line(out, d + i * in, 1);
            for (size_t k = 0; k < products; k++)
                v[k * r->stride + patch * pitch + c] = (int16_t)d[k];
        }
    }
}

void nnf_conv2d_winograd2_input_qu8_s16_nhwc__scalar(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    transform(NNF_WINOGRAD_Q8_2, r, x, v);
}

void nnf_conv2d_winograd3_input_qu8_s16_nhwc__scalar(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    transform(NNF_WINOGRAD_Q8_3, r, x, v);
}

void nnf_conv2d_winograd4_input_qu8_s16_nhwc__scalar(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    transform(NNF_WINOGRAD_Q8_4, r, x, v);
}

/* All products of a patch and a column. */
static void multiply(size_t products, const nnf_winograd_q8_tile *t, const int16_t *v, const int16_t *w, size_t width,
                     uint32_t *m)
{
    for (size_t k = 0; k < products; k++, v += t->stride) {
        m[k] = 0;
        for (size_t c = 0; c < 4 * t->groups; c += 2, w += 2 * width)
            m[k] += (uint32_t)(v[c] * w[0]) + (uint32_t)(v[c + 1] * w[1]);
    }
}

static void run(size_t out, const nnf_winograd_q8_tile *t)
{
    const size_t width = nnf_conv2d_width(t->columns, N), in = nnf_winograd_q8_in(out);
    const int32_t *multiplier = t->w + NNF_CONV2D_Q8_MULTIPLIER * width, *left = t->w + NNF_CONV2D_Q8_LEFT * width;
    const int32_t *right = t->w + NNF_CONV2D_Q8_RIGHT * width;
    const int16_t *weights = (const int16_t *)nnf_conv2d_q8_weights(t->w, width);
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        for (size_t j = 0; j < t->columns; j++) {
            uint32_t m[PRODUCTS];
            multiply(in * in, t, t->v + patch * t->pitch, weights + 2 * j, width, m);
            for (size_t k = 0; k < in; k++)
                output_line(out, m + k * in, 1);
            for (size_t i = 0; i < (size_t)place->height; i++) {
                output_line(out, m + i, in);
                for (size_t k = 0; k < (size_t)place->width; k++) {
                    const int32_t sum = (int32_t)(unscaled(out, m[k * in + i]) + (uint32_t)t->w[j]);
                    const size_t at = place->at + i * t->row + k * t->pixel + j;
                    if (t->raw) {
                        ((int32_t *)t->c)[at] = sum;
                        continue;
                    }
                    const int32_t scaled = nnf_mbqm(sum, multiplier[j], left[j] - right[j]);
                    const int32_t y = nnf_clamp_s32(scaled, t->lo - t->zero_point, t->hi - t->zero_point);
                    t->c[at] = (uint8_t)(y + t->zero_point) ^ t->flip;
                }
            }
        }
    }
}

void nnf_conv2d_winograd2_s16_qu8_tile__scalar(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_2, t);
}

void nnf_conv2d_winograd3_s16_qu8_tile__scalar(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_3, t);
}

void nnf_conv2d_winograd4_s16_qu8_tile__scalar(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_4, t);
}
