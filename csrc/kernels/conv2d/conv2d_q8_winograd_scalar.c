#include "conv2d_q8_winograd.h"

#include "nnf/fixedpoint.h"

enum { IN = NNF_WINOGRAD_Q8_IN, PRODUCTS = NNF_WINOGRAD_Q8_PRODUCTS, N = 8 };

/* Four values `step` apart, transformed in place. */
static void input_line(int32_t *d, size_t step)
{
    const int32_t d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    d[0] = d0 - d2;
    d[step] = d1 + d2;
    d[2 * step] = d2 - d1;
    d[3 * step] = d1 - d3;
}

/* Likewise four values to two, in the places of the first two. */
static void output_line(uint32_t *m, size_t step)
{
    const uint32_t m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    m[0] += m1 + m2;
    m[step] = m1 - m2 - m3;
}

void nnf_conv2d_winograd_input_qu8_s16_nhwc__scalar(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    const size_t pitch = nnf_winograd_q8_pitch(r->channels);
    for (size_t patch = 0; patch < r->patches; patch++) {
        for (size_t c = 0; c < pitch; c++) {
            int32_t d[PRODUCTS];
            for (size_t k = 0; k < PRODUCTS; k++) {
                const size_t i = k / IN, j = 2 * patch + k % IN;
                d[k] = c < r->channels ? r->pad : 0;
                if (c < r->channels && i >= r->top && i < r->bottom && j >= r->left && j < r->right) {
                    const uint8_t code = x[i * r->row + j * r->channels + c];
                    d[k] = r->is_signed ? (int8_t)code : code;
                }
            }
            for (size_t j = 0; j < IN; j++)
                input_line(d + j, IN);
            for (size_t i = 0; i < IN; i++)
                input_line(d + i * IN, 1);
            for (size_t k = 0; k < PRODUCTS; k++)
                v[k * r->stride + patch * pitch + c] = (int16_t)d[k];
        }
    }
}

/* All 16 products of a patch and a column. */
static void multiply(const nnf_winograd_q8_tile *t, const int16_t *v, const int16_t *w, size_t width, uint32_t *m)
{
    for (size_t k = 0; k < PRODUCTS; k++, v += t->stride) {
        m[k] = 0;
        for (size_t c = 0; c < 4 * t->groups; c += 2, w += 2 * width)
            m[k] += (uint32_t)(v[c] * w[0]) + (uint32_t)(v[c + 1] * w[1]);
    }
}

void nnf_conv2d_winograd_s16_qu8_tile__scalar(const nnf_winograd_q8_tile *t)
{
    const size_t width = nnf_conv2d_width(t->columns, N);
    const int32_t *multiplier = t->w + NNF_CONV2D_Q8_MULTIPLIER * width, *left = t->w + NNF_CONV2D_Q8_LEFT * width;
    const int32_t *right = t->w + NNF_CONV2D_Q8_RIGHT * width;
    const int16_t *weights = (const int16_t *)nnf_conv2d_q8_weights(t->w, width);
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        for (size_t j = 0; j < t->columns; j++) {
            uint32_t m[PRODUCTS];
            multiply(t, t->v + patch * t->pitch, weights + 2 * j, width, m);
            for (size_t k = 0; k < IN; k++)
                output_line(m + k, IN);
            for (size_t i = 0; i < (size_t)place->height; i++) {
                output_line(m + i * IN, 1);
                for (size_t k = 0; k < (size_t)place->width; k++) {
                    const int32_t sum = (int32_t)((uint32_t)((int32_t)m[i * IN + k] >> 2) + (uint32_t)t->w[j]);
                    const int32_t scaled = nnf_mbqm(sum, multiplier[j], left[j] - right[j]);
                    const int32_t y = nnf_clamp_s32(scaled, t->lo - t->zero_point, t->hi - t->zero_point);
                    t->c[place->at + i * t->row + k * t->pixel + j] = (uint8_t)(y + t->zero_point) ^ t->flip;
                }
            }
        }
    }
}
