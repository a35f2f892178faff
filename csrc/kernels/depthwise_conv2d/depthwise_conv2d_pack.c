#include "depthwise_conv2d.h"

size_t nnf_pack_depthwise_conv2d_f32_size(size_t channels, size_t taps)
{
    const size_t blocks = (channels + NNF_DEPTHWISE_BLOCK - 1) / NNF_DEPTHWISE_BLOCK;
    return blocks * (1 + taps) * NNF_DEPTHWISE_BLOCK;
}

void nnf_pack_depthwise_conv2d_f32(size_t channels, size_t taps, const float *filter, const float *bias,
                                   float *packed)
{
    for (size_t block = 0; block < channels; block += NNF_DEPTHWISE_BLOCK) {
        for (size_t t = 0; t <= taps; t++) {
            const float *row = t == 0 ? bias : filter + (t - 1) * channels;
            for (size_t i = 0; i < NNF_DEPTHWISE_BLOCK; i++)
                *packed++ = block + i < channels ? row[block + i] : 0.0f;
        }
    }
}
