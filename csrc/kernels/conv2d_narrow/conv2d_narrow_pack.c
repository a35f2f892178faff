/* Layout of 8-bit weights for few output channels. Runs once per model. */
#include "conv2d_narrow.h"

#include <string.h>

#include "conv2d/conv2d_q8_header.h"

size_t nnf_pack_conv2d_narrow_q8_size(size_t columns, size_t taps, size_t depth, size_t k)
{
    return columns * (NNF_CONV2D_Q8_ARRAYS * sizeof(int32_t) + taps * nnf_conv2d_narrow_blocks(depth, k) * k);
}

void nnf_pack_conv2d_narrow_q8(size_t columns, size_t taps, size_t depth, size_t k, const uint8_t *weights,
                               const nnf_conv2d_q8_scheme *scheme, unsigned char *packed)
{
    const size_t whole = depth / k * k, again = (k - depth % k) % k;
    int32_t *header = (int32_t *)packed;
    unsigned char *to = packed + NNF_CONV2D_Q8_ARRAYS * sizeof(int32_t) * columns;
    for (size_t j = 0; j < columns; j++) {
        const uint8_t *from = weights + j * taps * depth;
        nnf_conv2d_q8_header(taps * depth, from, scheme, j, header + j, columns);
        for (size_t tap = 0; tap < taps; tap++, from += depth) {
            for (size_t i = 0; i < whole; i++)
                *to++ = from[i] ^ scheme->flip;
            if (whole < depth) {
                memset(to, 0, again);
                to += again;
                for (size_t i = whole; i < depth; i++)
                    *to++ = from[i] ^ scheme->flip;
            }
        }
    }
}

int nnf_fits_conv2d_narrow_q8(size_t columns, const unsigned char *packed)
{
    const int32_t *header = (const int32_t *)packed;
    uint32_t far = 0;
    for (size_t j = 0; j < columns; j++) {
        far |= (uint32_t)header[NNF_CONV2D_Q8_LEFT * columns + j] > 31;
        far |= (uint32_t)header[NNF_CONV2D_Q8_RIGHT * columns + j] > 31;
    }
    return !far;
}
