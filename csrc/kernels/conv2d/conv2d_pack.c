/* Weight layouts of the convolution kernels. Runs once per model. */
#include "conv2d.h"

size_t nnf_pack_conv2d_f32_size(size_t columns, size_t depth, size_t n)
{
    const size_t whole = columns / n * n, rest = columns - whole;
    return (whole + (rest ? nnf_conv2d_width(rest, n) : 0)) * (depth + 1);
}

/* The depth goes in blocks, so that the lines written stay in the cache while all columns add to them. */
enum { BLOCK = 16 };

void nnf_pack_conv2d_f32(size_t columns, size_t depth, size_t n, const float *weights, const float *bias,
                         float *packed)
{
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        const float *panel = weights + first * depth;
        for (size_t j = 0; j < width; j++)
            packed[j] = j < here ? bias[first + j] : 0;
        packed += width;
        for (size_t k = 0; k < depth; k += BLOCK) {
            const size_t count = depth - k < BLOCK ? depth - k : BLOCK;
            for (size_t j = 0; j < width; j++) {
                float *to = packed + k * width + j;
                if (j < here) {
                    const float *from = panel + j * depth + k;
                    for (size_t i = 0; i < count; i++)
                        to[i * width] = from[i];
                } else {
                    for (size_t i = 0; i < count; i++)
                        to[i * width] = 0;
                }
            }
        }
        packed += depth * width;
    }
}
