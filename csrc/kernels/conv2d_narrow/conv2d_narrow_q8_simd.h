/* Tiles of codes. Include after KERNEL_Q8 and these, for vectors of CODES codes:
 *   S: int32 sums; X, W: codes and weights; no_sum(), read_codes(a, from), read_weights(w), dot(sum, x, w)
 *   IS_SIGNED: products are of code - 128
 *   finish(sum, scheme, y): the codes of 8 sums. */
#ifndef NNF_CONV2D_NARROW_Q8_SIMD_H
#define NNF_CONV2D_NARROW_Q8_SIMD_H

#include <string.h>

#include "nnf/unroll.h"

/* Up to 8 / `wide` rows, whose addresses of the first tap are at `a`, by `columns` <= wide columns, whose weights lie
 * `next` apart. Sums of rows and columns that are not there repeat the last one. */
INLINE void multiply_q8(const nnf_conv2d_narrow_q8_tile *t, const uint8_t *const *a, size_t rows, size_t columns,
                        const int wide, const int8_t *w, size_t next, const scheme_of_8 *scheme, uint8_t *c)
{
    const int high = 8 / wide;
    const size_t depth = t->depth, whole = depth / CODES * CODES;
    const int8_t *weights[4];
    S sum[8];
    NNF_UNROLL
    for (int j = 0; j < wide; j++)
        weights[j] = w + ((size_t)j < columns ? (size_t)j : columns - 1) * next;
    NNF_UNROLL
    for (int i = 0; i < 8; i++)
        sum[i] = no_sum();
    for (size_t tap = 0; tap < t->taps; tap++, a += NNF_CONV2D_NARROW_ROWS) {
        const uint8_t *x[8];
        size_t at = 0; /* of the weights: behind `k` only in the block of the last codes */
        NNF_UNROLL
        for (int i = 0; i < high; i++)
            x[i] = a[(size_t)i < rows ? (size_t)i : rows - 1];
        for (size_t k = 0; k < depth; at += CODES, k = at < whole ? at : at < depth ? depth - CODES : depth) {
            NNF_UNROLL
            for (int j = 0; j < wide; j++) {
                const W v = read_weights(weights[j] + at);
                NNF_UNROLL
                for (int i = 0; i < high; i++)
                    sum[i * wide + j] = dot(sum[i * wide + j], read_codes(x[i] + k, t->from), v);
            }
        }
        NNF_UNROLL
        for (int j = 0; j < wide; j++)
            weights[j] += at;
    }
    uint8_t y[8];
    finish(sum, scheme, y);
    if (rows >= (size_t)high && columns == (size_t)wide && t->ldc == columns) {
        memcpy(c, y, 8);
        return;
    }
    for (size_t i = 0; i < rows && i < (size_t)high; i++, c += t->ldc) {
        for (size_t j = 0; j < columns; j++)
            c[j] = y[i * (size_t)wide + j];
    }
}

INLINE void run_q8(const nnf_conv2d_narrow_q8_tile *t, size_t j, size_t columns, const int wide)
{
    const size_t high = (size_t)(8 / wide);
    const size_t next = t->taps * nnf_conv2d_narrow_blocks(t->depth, CODES) * CODES;
    const int8_t *w = nnf_conv2d_narrow_weights(t->w, t->columns) + j * next;
    scheme_of_8 scheme = {.zero_point = t->zero_point, .lo = t->lo, .hi = t->hi, .flip = t->flip};
    for (size_t i = 0; i < 8; i++) {
        const size_t unit = i % (size_t)wide;
        const int32_t *header = t->w + j + (unit < columns ? unit : columns - 1);
        scheme.bias[i] = header[NNF_CONV2D_Q8_BIAS * t->columns];
        if (IS_SIGNED) /* wraps as the sums do */
            scheme.bias[i] = (int32_t)((uint32_t)scheme.bias[i] + (uint32_t)header[NNF_CONV2D_Q8_SIGNED * t->columns]);
        scheme.multiplier[i] = header[NNF_CONV2D_Q8_MULTIPLIER * t->columns];
        scheme.left[i] = header[NNF_CONV2D_Q8_LEFT * t->columns];
        scheme.right[i] = header[NNF_CONV2D_Q8_RIGHT * t->columns];
    }
    for (size_t i = 0; i < t->rows; i += high)
        multiply_q8(t, t->a + i, t->rows - i, columns, wide, w, next, &scheme, t->c + i * t->ldc + j);
}

void KERNEL_Q8(nnf_conv2d_narrow_qu8_qs8c_nhwc)(const nnf_conv2d_narrow_q8_tile *t)
{
    for (size_t j = 0; j < t->columns; j += 4) {
        const size_t left = t->columns - j;
        if (left == 1)
            run_q8(t, j, 1, 1);
        else if (left == 2)
            run_q8(t, j, 2, 2);
        else
            run_q8(t, j, left < 4 ? left : 4, 4);
    }
}

#endif
