#include "conv2d_narrow.h"

#include "nnf/fixedpoint.h"

void nnf_conv2d_narrow_f32_nhwc__scalar(const nnf_conv2d_f32_tile *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->columns; j++) {
            const float *w = t->w + t->columns + j * t->taps * t->depth;
            float sum = t->w[j];
            for (size_t tap = 0; tap < t->taps; tap++, w += t->depth) {
                const float *a = t->a[tap * NNF_CONV2D_NARROW_ROWS + i];
                for (size_t k = 0; k < t->depth; k++)
                    sum += a[k] * w[k];
            }
            t->c[i * t->ldc + j] = sum < t->lo ? t->lo : sum > t->hi ? t->hi : sum;
        }
    }
}

void nnf_conv2d_narrow_qu8_qs8c_nhwc__scalar(const nnf_conv2d_narrow_q8_tile *t)
{
    const int32_t *multiplier = t->w + NNF_CONV2D_Q8_MULTIPLIER * t->columns;
    const int32_t *left = t->w + NNF_CONV2D_Q8_LEFT * t->columns, *right = t->w + NNF_CONV2D_Q8_RIGHT * t->columns;
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->columns; j++) {
            const int8_t *w = nnf_conv2d_narrow_weights(t->w, t->columns) + j * t->taps * t->depth;
            uint32_t sum = (uint32_t)t->w[j];
            for (size_t tap = 0; tap < t->taps; tap++, w += t->depth) {
                const uint8_t *a = t->a[tap * NNF_CONV2D_NARROW_ROWS + i];
                for (size_t k = 0; k < t->depth; k++)
                    sum += (uint32_t)((a[k] ^ t->from) * w[k]);
            }
            const int32_t scaled = nnf_mbqm((int32_t)sum, multiplier[j], left[j] - right[j]);
            const int32_t y = nnf_clamp_s32(scaled, t->lo - t->zero_point, t->hi - t->zero_point) + t->zero_point;
            t->c[i * t->ldc + j] = (uint8_t)y ^ t->flip;
        }
    }
}
