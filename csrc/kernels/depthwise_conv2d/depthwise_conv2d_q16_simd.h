/* Sums of int16 codes in vectors of channels. Include after nnf/simd/s32_<isa>.h and KERNEL. */
#ifndef NNF_DEPTHWISE_CONV2D_Q16_SIMD_H
#define NNF_DEPTHWISE_CONV2D_Q16_SIMD_H

#include <string.h>

#include "depthwise_conv2d/depthwise_conv2d.h"
#include "nnf/unroll.h"

/* The taps of one output that lie inside the image. */
typedef struct taps {
    size_t top, bottom, left, right;
    size_t row, column; /* of the image, of the first one */
} taps;

/* One output, LANES channels in each of `vectors`, or for 0 of them the first `channels`, fewer than LANES. */
INLINE void window_q16(const nnf_depthwise *g, const taps *t, const int whole, size_t channels, const int16_t *x,
                       const int32_t *weights, int32_t *y)
{
    const int vectors = whole ? whole : 1;
    const M live = first_lanes(channels);
    int16_t some[LANES] = {0};
    S sum[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = s32_all(0);
    for (size_t i = t->top; i < t->bottom; i++) {
        const size_t row = t->row + (i - t->top) * g->y.dilation;
        const int16_t *at = x + (row * g->x.size + t->column) * g->channels;
        const int32_t *by = weights + (i * g->x.taps + t->left) * g->channels;
        for (size_t j = t->left; j < t->right; j++, at += g->x.dilation * g->channels, by += g->channels) {
            if (!whole)
                memcpy(some, at, channels * sizeof *at);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const S weight = whole ? s32_load_whole(by + LANES * v) : s32_load(live, by);
                sum[v] = s32_add(sum[v], s32_mul(s32_load_s16(whole ? at + LANES * v : some), weight));
            }
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (whole)
            s32_store_whole(y + LANES * v, sum[v]);
        else
            s32_store(y, live, sum[v]);
    }
}

void KERNEL(nnf_depthwise_conv2d_qs16_s32_nhwc)(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                size_t end, const int16_t *x, const int32_t *weights, int32_t *y)
{
    taps t;
    for (size_t row = first; row < last; row++) {
        nnf_axis_taps(&g->y, row, &t.top, &t.bottom);
        t.row = row * g->y.stride + t.top * g->y.dilation - g->y.head;
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            nnf_axis_taps(&g->x, column, &t.left, &t.right);
            t.column = column * g->x.stride + t.left * g->x.dilation - g->x.head;
            size_t c = begin;
            for (; c + 4 * LANES <= end; c += 4 * LANES)
                window_q16(g, &t, 4, 0, x + c, weights + c, y + c);
            for (; c + LANES <= end; c += LANES)
                window_q16(g, &t, 1, 0, x + c, weights + c, y + c);
            if (c < end && c > begin) { /* some channels once more, to the same sums */
                c = end - LANES;
                window_q16(g, &t, 1, 0, x + c, weights + c, y + c);
            } else if (c < end) {
                window_q16(g, &t, 0, end - c, x + c, weights + c, y + c);
            }
        }
    }
}

#endif
