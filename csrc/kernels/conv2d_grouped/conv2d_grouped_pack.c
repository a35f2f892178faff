/* Layout of the weights of grouped convolutions. Runs once per model. */
#include "conv2d_grouped.h"

#include <string.h>

#include "conv2d/conv2d_q8_header.h"

int nnf_conv2d_grouped_fits(const nnf_conv2d_groups *in, size_t n, size_t k)
{
    if (!in->groups || !in->units || !in->depth || in->depth % (k == 2 && n == 16 ? 4 : k))
        return 0;
    for (size_t first = 0; !nnf_conv2d_grouped_apart(in, n) && first < in->groups * in->units; first += n / 2) {
        if (nnf_conv2d_grouped_span(in, first, n) > n / 2 * k)
            return 0;
    }
    return 1;
}

size_t nnf_pack_conv2d_grouped_q8_size(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k)
{
    size_t all = 0;
    for (size_t first = 0; first < in->groups * in->units; first += nnf_conv2d_grouped_columns(in, first, n))
        all += nnf_conv2d_grouped_panel(in, taps, nnf_conv2d_grouped_width(in, first, n), n, k);
    return sizeof(int32_t) * all;
}

/* Weights of one output channel, those of a step `width` channels further on. */
static void pack_channel(size_t steps, size_t width, size_t k, const uint8_t *from, uint8_t flip, unsigned char *to)
{
    for (size_t s = 0; s < steps; s++, to += 4 * width, from += k) {
        for (size_t i = 0; i < k; i++) {
            const int16_t weight = (int8_t)(from[i] ^ flip);
            if (k == 4)
                to[i] = (unsigned char)weight;
            else
                memcpy(to + 2 * i, &weight, 2);
        }
    }
}

void nnf_pack_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k, const uint8_t *weights,
                                const nnf_conv2d_q8_scheme *scheme, unsigned char *packed)
{
    const size_t steps = in->depth / k, places = nnf_conv2d_grouped_places(in, n, k);
    int32_t *panel = (int32_t *)packed;
    memset(packed, 0, nnf_pack_conv2d_grouped_q8_size(in, taps, n, k));
    for (size_t first = 0, columns; first < in->groups * in->units; first += columns) {
        const size_t width = nnf_conv2d_grouped_width(in, first, n);
        int32_t *which = panel + nnf_conv2d_grouped_header(width);
        int simple = 1;
        columns = nnf_conv2d_grouped_columns(in, first, n);
        for (size_t j = 0; j < columns; j++, weights += taps * in->depth) {
            const size_t skipped = nnf_conv2d_grouped_base(in, first + j) - nnf_conv2d_grouped_base(in, first);
            simple &= nnf_conv2d_q8_header(taps * in->depth, weights, scheme, first + j, panel + j, width);
            for (size_t s = 0; places && s < steps; s++)
                which[s * width + j] = (int32_t)(skipped / k + s);
            pack_channel(taps * steps, width, k, weights, scheme->flip, (unsigned char *)(which + places + j));
        }
        panel[NNF_CONV2D_Q8_ARRAYS * width] = simple;
        panel += nnf_conv2d_grouped_panel(in, taps, width, n, k);
    }
}

int nnf_fits_conv2d_grouped_q8(const nnf_conv2d_groups *in, size_t taps, size_t n, size_t k,
                               const unsigned char *packed)
{
    const int32_t *panel = (const int32_t *)packed;
    const size_t places = nnf_conv2d_grouped_places(in, n, k);
    int fits = 1;
    for (size_t first = 0; first < in->groups * in->units; first += nnf_conv2d_grouped_columns(in, first, n)) {
        const size_t width = nnf_conv2d_grouped_width(in, first, n), columns = nnf_conv2d_grouped_columns(in, first, n);
        const int32_t *which = panel + nnf_conv2d_grouped_header(width);
        fits &= nnf_conv2d_q8_header_fits(columns, width, panel);
        for (size_t i = 0; i < places; i++)
            fits &= (size_t)(uint32_t)which[i] < nnf_conv2d_grouped_span(in, first, n) / k;
        panel += nnf_conv2d_grouped_panel(in, taps, width, n, k);
    }
    return fits;
}
