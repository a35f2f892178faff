#include "depthwise_conv2d.h"

#include "nnf/bf16.h"
#include "nnf/fixedpoint.h"

/* Output row `row`, column `column`, channel `o`. */
static float output_of(const nnf_depthwise *g, size_t row, size_t column, size_t o, const float *x, const float *packed,
                       float lo, float hi)
{
    const size_t depth = g->channels / g->multiplier, taps = g->y.taps * g->x.taps, lane = o % NNF_DEPTHWISE_BLOCK;
    const float *w = packed + (o - lane) * (1 + taps) + lane;
    size_t top, bottom, left, right;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    nnf_axis_taps(&g->x, column, &left, &right);
    double sum = w[0];
    for (size_t i = top; i < bottom; i++) {
        const size_t yy = row * g->y.stride + i * g->y.dilation - g->y.head;
        for (size_t j = left; j < right; j++) {
            const size_t xx = column * g->x.stride + j * g->x.dilation - g->x.head;
            sum += (double)x[(yy * g->x.size + xx) * depth + o / g->multiplier] *
                   (double)w[(1 + i * g->x.taps + j) * NNF_DEPTHWISE_BLOCK];
        }
    }
    return (float)(sum < lo ? lo : sum > hi ? hi : sum);
}

void nnf_depthwise_conv2d_f32_nhwc__scalar(const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end,
                                           const float *x, const float *packed, float *y, float lo, float hi)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            for (size_t o = begin; o < end; o++)
                y[o] = output_of(g, row, column, o, x, packed, lo, hi);
        }
    }
}

void nnf_depthwise_conv2d_f32_bf16_nhwc__scalar(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                size_t end, const float *x, const float *packed, uint16_t *y,
                                                size_t pixel, float lo, float hi)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += pixel) {
            for (size_t o = begin; o < end; o++)
                y[o] = nnf_bf16_of_f32(output_of(g, row, column, o, x, packed, lo, hi));
            for (size_t o = end; end == g->channels && o < pixel; o++)
                y[o] = 0;
        }
    }
}

void nnf_depthwise_conv2d_qs16_s32_nhwc__scalar(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                size_t end, const int16_t *x, const int32_t *weights, int32_t *y)
{
    size_t top, bottom, left, right;
    for (size_t row = first; row < last; row++) {
        nnf_axis_taps(&g->y, row, &top, &bottom);
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            nnf_axis_taps(&g->x, column, &left, &right);
            for (size_t o = begin; o < end; o++) {
                uint32_t sum = 0;
                for (size_t i = top; i < bottom; i++) {
                    for (size_t j = left; j < right; j++) {
                        const size_t yy = row * g->y.stride + i * g->y.dilation - g->y.head;
                        const size_t xx = column * g->x.stride + j * g->x.dilation - g->x.head;
                        const int32_t code = x[(yy * g->x.size + xx) * g->channels + o];
                        sum += (uint32_t)code * (uint32_t)weights[(i * g->x.taps + j) * g->channels + o];
                    }
                }
                y[o] = (int32_t)sum;
            }
        }
    }
}

/* flip: 128 for signed codes. Reads its own pack (n = 16, k = 1), where lanes are channels in order. */
static inline void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
                      uint8_t *y, uint8_t flip)
{
    const nnf_depthwise *g = &p->g;
    const size_t depth = g->channels / g->multiplier, rows = NNF_DEPTHWISE_ROWS + p->groups;
    for (size_t row = first; row < last; row++, y += g->x.out * g->channels) {
        for (size_t column = 0; column < g->x.out; column++) {
            for (size_t o = begin; o < end; o++) {
                const int32_t *b = p->blocks + o / 16 * 16 * rows + o % 16;
                uint32_t sum = (uint32_t)b[NNF_DEPTHWISE_FOLDED * 16];
                for (size_t t = 0; t < p->groups; t++) {
                    const size_t yy = row * g->y.stride + (size_t)p->taps[t].down - g->y.head;
                    const size_t xx = column * g->x.stride + (size_t)p->taps[t].across - g->x.head;
                    int32_t code = p->in_zero;
                    if (yy < g->y.size && xx < g->x.size)
                        code = x[(yy * g->x.size + xx) * depth + o / g->multiplier] ^ flip;
                    sum += (uint32_t)(code * b[(NNF_DEPTHWISE_ROWS + t) * 16]);
                }
                const int exponent = b[NNF_DEPTHWISE_LEFT * 16] - b[NNF_DEPTHWISE_RIGHT * 16];
                const int64_t scaled = nnf_mbqm((int32_t)sum, b[NNF_DEPTHWISE_MULTIPLIER * 16], exponent);
                const int64_t code = scaled + p->out_zero;
                y[column * g->channels + o] = (uint8_t)((code < p->lo ? p->lo : code > p->hi ? p->hi : code) ^ flip);
            }
        }
    }
}

void nnf_depthwise_conv2d_qu8_nhwc__scalar(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                           size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, 0);
}

void nnf_depthwise_conv2d_qs8_nhwc__scalar(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                           size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, 128);
}
