#include "depthwise_conv2d.h"

void nnf_depthwise_conv2d_f32_nhwc__scalar(const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end,
                                           const float *x, const float *packed, float *y, float lo, float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps;
    for (size_t row = first; row < last; row++, y += g->x.out * g->channels) {
        size_t top, bottom, left, right;
        nnf_axis_taps(&g->y, row, &top, &bottom);
        for (size_t column = 0; column < g->x.out; column++) {
            nnf_axis_taps(&g->x, column, &left, &right);
            for (size_t o = begin; o < end; o++) {
                const size_t lane = o % NNF_DEPTHWISE_BLOCK;
                const float *w = packed + (o - lane) * (1 + taps) + lane;
                double sum = w[0];
                for (size_t i = top; i < bottom; i++) {
                    const size_t yy = row * g->y.stride + i * g->y.dilation - g->y.head;
                    for (size_t j = left; j < right; j++) {
                        const size_t xx = column * g->x.stride + j * g->x.dilation - g->x.head;
                        sum += (double)x[(yy * g->x.size + xx) * depth + o / g->multiplier] *
                               (double)w[(1 + i * g->x.taps + j) * NNF_DEPTHWISE_BLOCK];
                    }
                }
                y[column * g->channels + o] = (float)(sum < lo ? lo : sum > hi ? hi : sum);
            }
        }
    }
}
