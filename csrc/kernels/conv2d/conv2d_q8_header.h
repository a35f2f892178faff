/* The header of panels of 8-bit weights, also of layouts beside those of conv2d.h. Runs once per model. */
#ifndef NNF_CONV2D_Q8_HEADER_H
#define NNF_CONV2D_Q8_HEADER_H

#include <string.h>

#include "conv2d/conv2d.h"

typedef uint16_t nnf_conv2d_u16x8 __attribute__((vector_size(16)));

static inline int32_t nnf_conv2d_q8_weight_sum(const uint8_t *weights, size_t depth, uint8_t flip)
{
    /* Codes + 128 as unsigned bytes: 128 vectors of sums of two of them fit 16 bits. */
    const uint16_t both = (uint16_t)((flip ^ 0x80) * 0x0101);
    const nnf_conv2d_u16x8 f = {both, both, both, both, both, both, both, both};
    uint32_t sum = 0;
    size_t k = 0;
    while (k + 16 <= depth) {
        const size_t vectors = (depth - k) / 16, end = k + 16 * (vectors < 128 ? vectors : 128);
        nnf_conv2d_u16x8 sums = {0};
        for (; k < end; k += 16) {
            nnf_conv2d_u16x8 v;
            memcpy(&v, weights + k, sizeof v);
            v ^= f;
            sums += (v & 0xFF) + (v >> 8);
        }
        for (int i = 0; i < 8; i++)
            sum += sums[i];
    }
    for (; k < depth; k++)
        sum += (uint8_t)(weights[k] ^ flip ^ 0x80);
    return (int32_t)(sum - 128 * (uint32_t)depth);
}

enum { NNF_CONV2D_Q8_MOST_RIGHT = 20 }; /* bits by which a simple panel may shift right */

/* The header of one output channel of so many weights: its arrays, each `width` long, at header. Returns whether a panel
 * of such channels is simple. */
static inline int nnf_conv2d_q8_header(size_t depth, const uint8_t *weights, const nnf_conv2d_q8_scheme *s,
                                       size_t channel, int32_t *header, size_t width)
{
    const int32_t sum = nnf_conv2d_q8_weight_sum(weights, depth, s->flip);
    const int64_t zu = s->input_zero_point, zw = s->weight_zero_point, terms = (int64_t)depth;
    const int64_t constant = s->bias[channel] - zu * sum + terms * zu * zw;
    const int64_t others = terms * 255 * (128 + (zw < 0 ? -zw : zw));
    const int exponent = s->exponent[channel];
    header[NNF_CONV2D_Q8_BIAS * width] = (int32_t)(uint32_t)(uint64_t)constant;
    header[NNF_CONV2D_Q8_MULTIPLIER * width] = s->multiplier[channel];
    header[NNF_CONV2D_Q8_LEFT * width] = exponent > 0 ? exponent : 0;
    header[NNF_CONV2D_Q8_RIGHT * width] = exponent > 0 ? 0 : -exponent;
    header[NNF_CONV2D_Q8_SIGNED * width] = 128 * sum;
    return exponent < 0 && exponent >= -NNF_CONV2D_Q8_MOST_RIGHT &&
           (constant < 0 ? -constant : constant) + others < INT64_C(1) << 29;
}

/* Whether the header of a panel `width` wide, of which so many channels are there, has no shift that kernels cannot do. */
static inline int nnf_conv2d_q8_header_fits(size_t columns, size_t width, const int32_t *header)
{
    const int simple = *nnf_conv2d_q8_simple(header, width) != 0;
    uint32_t far = 0;
    for (size_t j = 0; j < width; j++) {
        const uint32_t left = (uint32_t)header[NNF_CONV2D_Q8_LEFT * width + j];
        const uint32_t right = (uint32_t)header[NNF_CONV2D_Q8_RIGHT * width + j];
        far |= left > (simple ? 0 : 31) || right > (simple ? NNF_CONV2D_Q8_MOST_RIGHT : 31) ||
               (simple && j < columns && right == 0);
    }
    return !far;
}

#endif
