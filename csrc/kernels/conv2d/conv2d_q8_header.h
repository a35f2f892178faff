/* The header of one output channel of 8-bit weights without zero point, for layouts that put it beside the panels of
 * conv2d.h: its arrays, each `width` long, at header. Runs once per model. */
#ifndef NNF_CONV2D_Q8_HEADER_H
#define NNF_CONV2D_Q8_HEADER_H

#include "conv2d/conv2d.h"

static inline void nnf_conv2d_q8_header(size_t depth, const uint8_t *weights, const nnf_conv2d_q8_scheme *s,
                                        size_t channel, int32_t *header, size_t width)
{
    const int exponent = s->exponent[channel];
    uint32_t sum = 0;
    for (size_t k = 0; k < depth; k++)
        sum += (uint32_t)(int8_t)(weights[k] ^ s->flip);
    header[NNF_CONV2D_Q8_BIAS * width] = (int32_t)((uint32_t)s->bias[channel] - (uint32_t)s->input_zero_point * sum);
    header[NNF_CONV2D_Q8_MULTIPLIER * width] = s->multiplier[channel];
    header[NNF_CONV2D_Q8_LEFT * width] = exponent > 0 ? exponent : 0;
    header[NNF_CONV2D_Q8_RIGHT * width] = exponent > 0 ? 0 : -exponent;
    header[NNF_CONV2D_Q8_SIGNED * width] = (int32_t)(128 * sum);
}

#endif
