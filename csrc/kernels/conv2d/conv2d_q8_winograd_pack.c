/* Weights of Winograd convolution in integers. Runs once per model. */
#include "conv2d_q8_winograd.h"

#include <string.h>

enum { MOST = NNF_WINOGRAD_Q8_LARGE + 2 };

/* Three values `step` apart, transformed by the rows of G. */
static void line(size_t out, const int32_t *g, size_t step, int32_t *u)
{
    const int32_t g0 = g[0], g1 = g[step], g2 = g[2 * step];
    const int32_t end = out == NNF_WINOGRAD_Q8_LARGE ? 3 : 2;
    u[0] = end * g0;
    u[1] = g0 + g1 + g2;
    u[2] = g0 - g1 + g2;
    if (out == NNF_WINOGRAD_Q8_LARGE) {
        u[3] = g0 + 2 * g1 + 4 * g2;
        u[4] = g0 - 2 * g1 + 4 * g2;
    }
    u[out + 1] = end * g2;
}

/* The matrices of one channel of a panel: `to` is its first pair, `matrix` elements before that of the next one. */
static void pack_unit(size_t out, size_t channels, size_t width, size_t matrix, const uint8_t *filter,
                      const nnf_conv2d_q8_scheme *s, int16_t *to)
{
    const size_t in = nnf_winograd_q8_in(out);
    for (size_t c = 0; c < channels; c++) {
        int32_t g[9], down[3][MOST], u[MOST];
        for (size_t t = 0; t < 9; t++)
            g[t] = (int8_t)(filter[t * channels + c] ^ s->flip) - s->weight_zero_point;
        for (size_t j = 0; j < 3; j++)
            line(out, g + j, 3, down[j]);
        for (size_t i = 0; i < in; i++) {
            line(out, &down[0][i], MOST, u);
            for (size_t j = 0; j < in; j++)
                to[(j * in + i) * matrix + (c / 2 * width) * 2 + c % 2] = (int16_t)u[j];
        }
    }
}

void nnf_pack_conv2d_winograd_q8(size_t out, size_t units, size_t channels, size_t n, const uint8_t *filter,
                                 const nnf_conv2d_q8_scheme *scheme, unsigned char *packed)
{
    const size_t depth = nnf_winograd_q8_depth(out, channels), pairs = 2 * nnf_winograd_q8_groups(channels);
    for (size_t first = 0; first < units; first += n) {
        const size_t here = units - first < n ? units - first : n, width = nnf_conv2d_width(here, n);
        const size_t bytes = nnf_conv2d_q8_panel(width, nnf_conv2d_q8_groups(depth, NNF_CONV2D_Q8_GROUP));
        int32_t *header = (int32_t *)packed;
        int16_t *body = (int16_t *)(packed + 4 * (NNF_CONV2D_Q8_ARRAYS * width + 16));
        int simple = 1;
        memset(packed, 0, bytes);
        for (size_t j = 0; j < here; j++) {
            const uint8_t *unit = filter + (first + j) * 9 * channels;
            simple &= nnf_pack_conv2d_q8_channel(9 * channels, unit, scheme, first + j, header + j, width);
            pack_unit(out, channels, width, pairs * width * 2, unit, scheme, body + 2 * j);
        }
        header[NNF_CONV2D_Q8_ARRAYS * width] = simple;
        packed += bytes;
    }
}
