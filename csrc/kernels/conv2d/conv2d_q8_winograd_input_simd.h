/* Codes of Winograd patches to their transforms. Include only behind conv2d_q8_winograd_simd.h and
 *
 *   W, LANES                                 a vector of so many words
 *   w_all(x)                                 x in all lanes
 *   w_first(count, x)                        x, with zeros from lane `count` on
 *   w_add(a, b)  w_sub(a, b)  w_left(a, bits)
 *   w_codes(x, count, is_signed)             `count` codes, or LANES where there are more, and zeros behind
 *   w_store(y, count, x)                     as many, in whole multiples of 16
 *   KERNEL_INPUT(op)                         the name of the kernel of an operation */
#include "conv2d_q8_winograd.h"

#include <stdbool.h>

#include "nnf/unroll.h"

/* The inputs of a patch on a side, `step` vectors apart, transformed. */
INLINE void input_line(const size_t out, const W *d, const size_t step, W to[IN])
{
    const W d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (out == NNF_WINOGRAD_Q8_2) {
        to[0] = w_sub(d0, d2);
        to[1] = w_add(d1, d2);
        to[2] = w_sub(d2, d1);
        to[3] = w_sub(d1, d3);
    } else {
        const W d4 = d[4 * step], d5 = d[5 * step];
        const W even = w_sub(w_left(d2, 2), d4), odd = w_sub(w_left(d1, 2), d3);
        const W evens = w_sub(d4, d2), odds = w_left(w_sub(d3, d1), 1);
        to[0] = w_add(w_left(w_sub(d0, d2), 2), evens);
        to[1] = w_add(even, odd);
        to[2] = w_sub(even, odd);
        to[3] = w_add(evens, odds);
        to[4] = w_sub(evens, odds);
        to[5] = w_sub(w_sub(d5, d3), w_left(odds, 1));
    }
}

/* Column j of the inputs, transformed. whole: all of its rows are inside. */
INLINE void input_column(const size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, size_t j, size_t count,
                         W pad, const bool whole, const bool is_signed, W to[IN])
{
    W d[IN];
    const bool inside = j >= r->left && j < r->right;
    x += j * r->channels;
    NNF_UNROLL
    for (size_t i = 0; i < nnf_winograd_q8_in(out); i++)
        d[i] = inside && (whole || (i >= r->top && i < r->bottom)) ? w_codes(x + i * r->row, count, is_signed) : pad;
    input_line(out, d, 1, to);
}

/* LANES channels of all patches, of which `count` are there. The last columns of a patch are the first of the next
 * one. */
INLINE void input_block(const size_t out, const nnf_winograd_q8_run *all, const uint8_t *x, int16_t *v, size_t count,
                        const bool whole, const bool is_signed)
{
    const nnf_winograd_q8_run own = *all, *r = &own; /* in registers, whatever is stored */
    const size_t pitch = nnf_winograd_q8_pitch(r->channels);
    const size_t in = nnf_winograd_q8_in(out), common = in - out;
    const W pad = w_first(count, w_all(r->pad));
    W d[IN][IN];
    NNF_UNROLL
    for (size_t j = 0; j < common; j++)
        input_column(out, r, x, j, count, pad, whole, is_signed, d[j]);
    for (size_t patch = 0; patch < r->patches; patch++, v += pitch) {
        NNF_UNROLL
        for (size_t j = common; j < in; j++)
            input_column(out, r, x, out * patch + j, count, pad, whole, is_signed, d[j]);
        int16_t *to = v;
        NNF_UNROLL
        for (size_t i = 0; i < in; i++, to += r->stride) {
            W line[IN];
            input_line(out, &d[0][i], IN, line);
            NNF_UNROLL
            for (size_t j = 0; j < in; j++)
                w_store(to + j * in * r->stride, count, line[j]);
            NNF_UNROLL
            for (size_t j = 0; j < common; j++)
                d[j][i] = d[j + out][i];
        }
    }
}

INLINE void input_rows(const size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v,
                       const bool is_signed)
{
    size_t c = 0;
    if (r->top == 0 && r->bottom == nnf_winograd_q8_in(out)) {
        for (; c + LANES <= r->channels; c += LANES)
            input_block(out, r, x + c, v + c, LANES, true, is_signed);
    }
    for (; c < r->channels; c += LANES)
        input_block(out, r, x + c, v + c, r->channels - c, false, is_signed);
}

INLINE void input_run(const size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    if (r->is_signed)
        input_rows(out, r, x, v, true);
    else
        input_rows(out, r, x, v, false);
}

void KERNEL_INPUT(nnf_conv2d_winograd2_input_qu8_s16_nhwc)(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    input_run(NNF_WINOGRAD_Q8_2, r, x, v);
}

void KERNEL_INPUT(nnf_conv2d_winograd3_input_qu8_s16_nhwc)(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    input_run(NNF_WINOGRAD_Q8_3, r, x, v);
}

void KERNEL_INPUT(nnf_conv2d_winograd4_input_qu8_s16_nhwc)(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    input_run(NNF_WINOGRAD_Q8_4, r, x, v);
}
