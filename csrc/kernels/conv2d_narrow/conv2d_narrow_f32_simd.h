/* Tiles of floats. Include after nnf/simd/f32_<isa>.h and KERNEL_F32. */
#ifndef NNF_CONV2D_NARROW_F32_SIMD_H
#define NNF_CONV2D_NARROW_F32_SIMD_H

#include "conv2d_narrow/conv2d_narrow.h"
#include "nnf/unroll.h"

/* Up to 8 / `wide` rows, whose addresses of the first tap are at `a`, by `columns` <= wide columns. Sums of rows and
 * columns that are not there repeat the last one. */
INLINE void multiply_f32(const nnf_conv2d_f32_tile *t, const float *const *a, size_t rows, size_t columns,
                         const int wide, const float *bias, const float *w, float *c)
{
    const int high = 8 / wide;
    const size_t depth = t->depth;
    const float *weights[4];
    V sum[8];
    NNF_UNROLL
    for (int j = 0; j < wide; j++)
        weights[j] = w + ((size_t)j < columns ? (size_t)j : columns - 1) * t->taps * depth;
    NNF_UNROLL
    for (int i = 0; i < 8; i++)
        sum[i] = zero();
    for (size_t tap = 0; tap < t->taps; tap++, a += NNF_CONV2D_NARROW_ROWS) {
        const float *x[8];
        NNF_UNROLL
        for (int i = 0; i < high; i++)
            x[i] = a[(size_t)i < rows ? (size_t)i : rows - 1];
        size_t k = 0;
        for (; k + LANES <= depth; k += LANES) {
            NNF_UNROLL
            for (int j = 0; j < wide; j++) {
                const V v = load_whole(weights[j] + k);
                NNF_UNROLL
                for (int i = 0; i < high; i++)
                    sum[i * wide + j] = fmadd(load_whole(x[i] + k), v, sum[i * wide + j]);
            }
        }
        if (k < depth) {
            const M live = first_lanes(depth - k);
            NNF_UNROLL
            for (int j = 0; j < wide; j++) {
                const V v = load(live, weights[j] + k);
                NNF_UNROLL
                for (int i = 0; i < high; i++)
                    sum[i * wide + j] = fmadd(load(live, x[i] + k), v, sum[i * wide + j]);
            }
        }
        NNF_UNROLL
        for (int j = 0; j < wide; j++)
            weights[j] += depth;
    }
    float total[8];
    totals_of_8(sum, total);
    for (size_t i = 0; i < rows && i < (size_t)high; i++, c += t->ldc) {
        for (size_t j = 0; j < columns; j++) {
            const float y = total[i * (size_t)wide + j] + bias[j];
            c[j] = y < t->lo ? t->lo : y > t->hi ? t->hi : y;
        }
    }
}

INLINE void run_f32(const nnf_conv2d_f32_tile *t, size_t j, size_t columns, const int wide)
{
    const size_t high = (size_t)(8 / wide);
    const float *w = t->w + t->columns + j * t->taps * t->depth;
    for (size_t i = 0; i < t->rows; i += high)
        multiply_f32(t, t->a + i, t->rows - i, columns, wide, t->w + j, w, t->c + i * t->ldc + j);
}

void KERNEL_F32(nnf_conv2d_narrow_f32_nhwc)(const nnf_conv2d_f32_tile *t)
{
    for (size_t j = 0; j < t->columns; j += 4) {
        const size_t left = t->columns - j;
        if (left == 1)
            run_f32(t, j, 1, 1);
        else if (left == 2)
            run_f32(t, j, 2, 2);
        else
            run_f32(t, j, left < 4 ? left : 4, 4);
    }
}

#endif
