/* Weights of Winograd convolution in integers. Runs once per model. */
#include "conv2d_q8_winograd.h"

#include <string.h>

#include "conv2d_q8_header.h"
#include "conv2d_turn.h"
#include "nnf/unroll.h"

enum { IN = NNF_WINOGRAD_Q8_IN, TAPS = NNF_WINOGRAD_Q8_TAPS, CHANNELS = 8, WIDEST = 32 };

/* Channels of a unit. */
typedef int16_t i16x8 __attribute__((vector_size(2 * CHANNELS)));
typedef int8_t i8x8 __attribute__((vector_size(CHANNELS)));

/* The taps of a filter on a side, `step` apart, transformed by the rows of G. */
INLINE void line(const size_t out, const i16x8 *g, const size_t step, i16x8 *u)
{
    const i16x8 g0 = g[0], g1 = g[step], g2 = g[2 * step];
    if (out == NNF_WINOGRAD_Q8_2) {
        const i16x8 ends = g0 + g2;
        u[0] = 2 * g0;
        u[1] = ends + g1;
        u[2] = ends - g1;
        u[3] = 2 * g2;
    } else {
        const i16x8 g3 = out == NNF_WINOGRAD_Q8_3 ? g[3 * step] : (i16x8){0};
        const i16x8 even = g0 + g2, odd = g1 + g3, even_far = g0 + 4 * g2, odd_far = 2 * g1 + 8 * g3;
        u[0] = 3 * g0;
        u[1] = even + odd;
        u[2] = even - odd;
        u[3] = even_far + odd_far;
        u[4] = even_far - odd_far;
        u[5] = 3 * (out == NNF_WINOGRAD_Q8_3 ? g3 : g2);
    }
}

/* The weights of a tap less their zero point; 0 for channels that are not there. */
INLINE i16x8 load_weights(const uint8_t *from, size_t count, const nnf_conv2d_q8_scheme *s)
{
    const uint8_t zero = (uint8_t)s->weight_zero_point ^ s->flip;
    uint8_t codes[CHANNELS] = {zero, zero, zero, zero, zero, zero, zero, zero};
    i8x8 weights;
    if (count < CHANNELS)
        memcpy(codes, from, count);
    memcpy(&weights, count < CHANNELS ? codes : from, sizeof weights);
    return __builtin_convertvector(weights ^ (int8_t)s->flip, i16x8) - (int16_t)s->weight_zero_point;
}

/* The matrices of `count` channels of a unit, of whose filter the first tap is at `filter`, each `channels` further. */
INLINE void transform(const size_t out, size_t channels, size_t count, const uint8_t *filter,
                      const nnf_conv2d_q8_scheme *s, i16x8 *made)
{
    const size_t in = nnf_winograd_q8_in(out), taps = nnf_winograd_q8_taps(out);
    i16x8 g[TAPS * TAPS], down[TAPS][IN];
    NNF_UNROLL
    for (size_t t = 0; t < taps * taps; t++)
        g[t] = load_weights(filter + t * channels, count, s);
    NNF_UNROLL
    for (size_t j = 0; j < taps; j++)
        line(out, g + j, taps, down[j]);
    NNF_UNROLL
    for (size_t i = 0; i < in; i++) {
        i16x8 u[IN];
        line(out, &down[0][i], IN, u);
        NNF_UNROLL
        for (size_t j = 0; j < in; j++)
            made[j * in + i] = u[j];
    }
}

/* The weights of a panel, of whose units `here` are there. */
INLINE void pack_panel(const size_t out, size_t here, size_t width, size_t channels, const uint8_t *filter,
                       const nnf_conv2d_q8_scheme *s, unsigned char *to)
{
    const size_t pairs = 2 * nnf_winograd_q8_groups(channels), taps = nnf_winograd_q8_taps(out);
    i16x8 made[WIDEST][IN * IN];
    memset(made + here, 0, (width - here) * sizeof made[0]);
    for (size_t c = 0; c < channels; c += CHANNELS) {
        const size_t left = channels - c, first = c / 2, count = pairs - first < 4 ? pairs - first : 4;
        for (size_t j = 0; j < here; j++) {
            const uint8_t *from = filter + j * taps * taps * channels + c;
            if (left < CHANNELS)
                transform(out, channels, left, from, s, made[j]);
            else
                transform(out, channels, CHANNELS, from, s, made[j]);
        }
        for (size_t k = 0; k < nnf_winograd_q8_products(out); k++)
            for (size_t j = 0; j < width; j += 4)
                nnf_conv2d_turn(count, (const unsigned char *)&made[j][k], sizeof made[j],
                                to + 4 * ((k * pairs + first) * width + j), 4 * width, 0);
    }
}

void nnf_pack_conv2d_winograd_q8(size_t out, size_t units, size_t channels, size_t n, const uint8_t *filter,
                                 const nnf_conv2d_q8_scheme *scheme, unsigned char *packed)
{
    const size_t depth = nnf_winograd_q8_taps(out) * nnf_winograd_q8_taps(out) * channels;
    const size_t groups = nnf_conv2d_q8_groups(nnf_winograd_q8_depth(out, channels), NNF_CONV2D_Q8_GROUP);
    for (size_t first = 0; first < units; first += n) {
        const size_t here = units - first < n ? units - first : n, width = nnf_conv2d_width(here, n);
        const size_t bytes = nnf_conv2d_q8_panel(width, groups), body = 4 * (NNF_CONV2D_Q8_ARRAYS * width + 16);
        const size_t weights = NNF_CONV2D_Q8_GROUP * width * groups;
        const uint8_t *from = filter + first * depth;
        int32_t *header = (int32_t *)packed;
        int simple = 1;
        memset(packed, 0, body);
        memset(packed + body + weights, 0, bytes - body - weights);
        for (size_t j = 0; j < here; j++)
            simple &= nnf_conv2d_q8_header(depth, from + j * depth, scheme, first + j, header + j, width);
        header[NNF_CONV2D_Q8_ARRAYS * width] = simple;
        unsigned char *to = packed + body;
        switch (out) {
        case NNF_WINOGRAD_Q8_2: pack_panel(NNF_WINOGRAD_Q8_2, here, width, channels, from, scheme, to); break;
        case NNF_WINOGRAD_Q8_3: pack_panel(NNF_WINOGRAD_Q8_3, here, width, channels, from, scheme, to); break;
        default: pack_panel(NNF_WINOGRAD_Q8_4, here, width, channels, from, scheme, to); break;
        }
        packed += bytes;
    }
}
