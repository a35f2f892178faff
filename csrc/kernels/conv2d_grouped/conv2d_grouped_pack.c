/* Layout of the weights of grouped convolutions. Runs once per model. */
#include "conv2d_grouped.h"

#include <string.h>

#include "conv2d/conv2d_q8_header.h"

int nnf_conv2d_grouped_fits(const nnf_conv2d_groups *in, size_t n, size_t k)
{
    if (!in->groups || !in->units || !in->depth || in->depth % k)
        return 0;
    for (size_t first = 0; first < in->groups * in->units; first += n) {
        const size_t span = nnf_conv2d_grouped_span(in, first, n);
        if (span > n * k || (k == 2 && n == 8 && span != 4 && span != 8 && span != 16))
            return 0;
    }
    return 1;
}

size_t nnf_pack_conv2d_grouped_q8_size(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k)
{
    return (in->groups * in->units + n - 1) / n * nnf_conv2d_grouped_block(in, taps, n, k);
}

void nnf_pack_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k, const uint8_t *weights,
                                const nnf_conv2d_q8_scheme *scheme, unsigned char *packed)
{
    const size_t units = in->groups * in->units, steps = in->depth / k;
    const size_t block = nnf_conv2d_grouped_block(in, taps, n, k);
    memset(packed, 0, nnf_pack_conv2d_grouped_q8_size(in, taps, n, k));
    for (size_t j = 0; j < units; j++) {
        int32_t *header = (int32_t *)(packed + j / n * block) + j % n, *which = header + NNF_CONV2D_Q8_ARRAYS * n;
        unsigned char *to = (unsigned char *)(which + steps * n);
        const uint8_t *from = weights + j * taps * in->depth;
        const size_t skipped = j / in->units * in->depth - nnf_conv2d_grouped_base(in, j / n * n);
        nnf_conv2d_q8_header(taps * in->depth, from, scheme, j, header, n);
        for (size_t s = 0; s < steps; s++)
            which[s * n] = (int32_t)(skipped / k + s);
        for (size_t s = 0; s < taps * steps; s++, to += 4 * n, from += k) {
            for (size_t i = 0; i < k; i++) {
                const int16_t weight = (int8_t)(from[i] ^ scheme->flip);
                if (k == 4)
                    to[i] = (unsigned char)weight;
                else
                    memcpy(to + 2 * i, &weight, 2);
            }
        }
    }
}

int nnf_fits_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k,
                               const unsigned char *packed)
{
    uint32_t far = 0;
    for (size_t first = 0; first < in->groups * in->units; first += n) {
        const int32_t *header = (const int32_t *)packed, *which = header + NNF_CONV2D_Q8_ARRAYS * n;
        const size_t places = nnf_conv2d_grouped_span(in, first, n) / k;
        for (size_t j = 0; j < n; j++) {
            far |= (uint32_t)header[NNF_CONV2D_Q8_LEFT * n + j] > 31;
            far |= (uint32_t)header[NNF_CONV2D_Q8_RIGHT * n + j] > 31;
        }
        for (size_t i = 0; i < in->depth / k * n; i++)
            far |= (uint32_t)which[i] >= places;
        packed += nnf_conv2d_grouped_block(in, taps, n, k);
    }
    return !far;
}
