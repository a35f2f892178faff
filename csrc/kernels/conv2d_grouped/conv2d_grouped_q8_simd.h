/* Tiles of codes. Include after KERNEL and these, for vectors of N output channels that take K codes each at once:
 *   S: int32 sums; X: inputs, or weights; no_sum(), lanes_of(w), store_lanes(y, sum),
 *   spread(x, places), add_dot(sum, x, weights)
 *   read(a, span, most, from): inputs of a span of up to `most`, a constant: 8, 16, 32 or 64, and not above N K
 *   HIGH: rows at once
 *   finisher_of(header, tile), finish(sum, finisher, columns, c): the codes of a row. */
#ifndef NNF_CONV2D_GROUPED_Q8_SIMD_H
#define NNF_CONV2D_GROUPED_Q8_SIMD_H

#include "nnf/unroll.h"

/* Up to HIGH rows, whose addresses of the first tap are at `a`, of one vector of channels; so many if whole. Sums of rows
 * that are not there repeat the last one. */
INLINE void multiply(const nnf_conv2d_grouped_q8_tile *t, const uint8_t *const *a, size_t rows, const int whole,
                     size_t base, size_t span, const size_t most, const int32_t *header, size_t columns, uint8_t *c)
{
    const size_t steps = t->in.depth / K;
    const int32_t *which = header + NNF_CONV2D_Q8_ARRAYS * N, *w = which + steps * N;
    S sum[HIGH];
    NNF_UNROLL
    for (int i = 0; i < HIGH; i++)
        sum[i] = no_sum();
    for (size_t tap = 0; tap < t->taps; tap++, a += NNF_CONV2D_GROUPED_ROWS) {
        X x[HIGH];
        NNF_UNROLL
        for (int i = 0; i < HIGH; i++)
            x[i] = read(a[whole || (size_t)i < rows ? (size_t)i : rows - 1] + base, span, most, t->from);
        for (size_t s = 0; s < steps; s++, w += N) {
            const X weights = lanes_of(w), places = lanes_of(which + s * N);
            NNF_UNROLL
            for (int i = 0; i < HIGH; i++)
                add_dot(&sum[i], spread(x[i], places), weights);
        }
    }
    /* By way of memory: sums that a loop numbers would not be in registers above either. */
    int32_t total[HIGH][N];
    NNF_UNROLL
    for (int i = 0; i < HIGH; i++)
        store_lanes(total[i], sum[i]);
    const finisher f = finisher_of(header, t);
    const size_t ldc = t->ldc;
    for (size_t i = 0; i < rows; i++)
        finish(lanes_of(total[i]), &f, columns, c + i * ldc);
}

INLINE void run(const nnf_conv2d_grouped_q8_tile *t, size_t j, size_t span, const size_t most)
{
    const size_t units = t->in.groups * t->in.units, columns = units - j < N ? units - j : N;
    const size_t block = nnf_conv2d_grouped_block(&t->in, t->taps, N, K) / sizeof(int32_t);
    const size_t base = nnf_conv2d_grouped_base(&t->in, j);
    const int32_t *header = t->w + j / N * block;
    uint8_t *c = t->c + j;
    size_t i = 0;
    for (; i + HIGH <= t->rows; i += HIGH)
        multiply(t, t->a + i, HIGH, 1, base, span, most, header, columns, c + i * t->ldc);
    if (i < t->rows)
        multiply(t, t->a + i, t->rows - i, 0, base, span, most, header, columns, c + i * t->ldc);
}

void KERNEL(nnf_conv2d_grouped_qu8_qs8c_nhwc)(const nnf_conv2d_grouped_q8_tile *t)
{
    for (size_t j = 0; j < t->in.groups * t->in.units; j += N) {
        const size_t span = nnf_conv2d_grouped_span(&t->in, j, N);
        if (span <= 8)
            run(t, j, span, 8);
        else if (span <= 16 || N * K == 16)
            run(t, j, span, 16);
        else if (span <= 32 || N * K == 32)
            run(t, j, span, 32);
        else
            run(t, j, span, 64);
    }
}

#endif
