/* Weight layouts of the convolution kernels. Runs once per model. */
#include "conv2d.h"

#include <string.h>

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

size_t nnf_pack_conv2d_q8_size(size_t columns, size_t depth, size_t n, size_t k)
{
    const size_t whole = columns / n, rest = columns % n, groups = nnf_conv2d_q8_groups(depth, k);
    return whole * nnf_conv2d_q8_panel(n, groups) + (rest ? nnf_conv2d_q8_panel(nnf_conv2d_width(rest, n), groups) : 0);
}

static int32_t sum_of(const uint8_t *weights, size_t depth, uint8_t flip)
{
    int32_t sum = 0;
    for (size_t k = 0; k < depth; k++)
        sum += (int8_t)(weights[k] ^ flip);
    return sum;
}

/* One channel of a panel's header. Returns whether it is simple. */
static int pack_channel(size_t depth, int32_t sum, const nnf_conv2d_q8_scheme *s, size_t channel, int32_t *header,
                        size_t width)
{
    const int64_t zu = s->input_zero_point, zw = s->weight_zero_point, terms = (int64_t)depth;
    const int64_t constant = s->bias[channel] - zu * sum + terms * zu * zw;
    const int64_t others = terms * 255 * (128 + (zw < 0 ? -zw : zw));
    const int exponent = s->exponent[channel];
    header[NNF_CONV2D_Q8_BIAS * width] = (int32_t)(uint32_t)(uint64_t)constant;
#if defined(__aarch64__)
    header[NNF_CONV2D_Q8_SIGNED_BIAS * width] = (int32_t)(uint32_t)(uint64_t)(constant + INT64_C(128) * sum);
#endif
    header[NNF_CONV2D_Q8_MULTIPLIER * width] = s->multiplier[channel];
    header[NNF_CONV2D_Q8_LEFT * width] = exponent > 0 ? exponent : 0;
    header[NNF_CONV2D_Q8_RIGHT * width] = exponent > 0 ? 0 : -exponent;
    return exponent < 0 && exponent >= -20 && (constant < 0 ? -constant : constant) + others < INT64_C(1) << 29;
}

void nnf_pack_conv2d_q8(size_t columns, size_t depth, size_t n, size_t k, const uint8_t *weights,
                        const nnf_conv2d_q8_scheme *scheme, unsigned char *packed)
{
    const size_t groups = nnf_conv2d_q8_groups(depth, k), whole = depth / NNF_CONV2D_Q8_GROUP;
    const uint32_t flip = scheme->flip * UINT32_C(0x01010101);
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        const size_t bytes = nnf_conv2d_q8_panel(width, groups);
        int32_t *header = (int32_t *)packed;
        unsigned char *body = packed + 4 * (NNF_CONV2D_Q8_ARRAYS * width + 16);
        int simple = 1;
        if (here < width)
            memset(packed, 0, bytes);
        else
            memset(body + 4 * width * whole, 0, 4 * width * (groups - whole));
        memset(header + NNF_CONV2D_Q8_ARRAYS * width, 0, 64);
        for (size_t j = 0; j < here; j++) {
            const uint8_t *from = weights + (first + j) * depth;
            const int32_t sum = sum_of(from, depth, scheme->flip);
            simple &= pack_channel(depth, sum, scheme, first + j, header + j, width);
            for (size_t g = 0; g < whole; g++) {
                uint32_t four;
                memcpy(&four, from + 4 * g, 4);
                four ^= flip;
                memcpy(body + (g * width + j) * 4, &four, 4);
            }
            if (4 * whole < depth) {
                unsigned char last[NNF_CONV2D_Q8_GROUP] = {0};
                for (size_t i = 4 * whole; i < depth; i++)
                    last[i - 4 * whole] = from[i] ^ scheme->flip;
                memcpy(body + (whole * width + j) * 4, last, 4);
            }
        }
        header[NNF_CONV2D_Q8_ARRAYS * width] = simple;
        packed += bytes;
    }
}
