/* From a tile of int32 sums to float32 values. Include only from AVX-512 files. */
#ifndef NNF_CONV2D_VALUES_AVX512_H
#define NNF_CONV2D_VALUES_AVX512_H

#include "conv2d.h"
#include "nnf/simd/s32_avx512.h"
#include "nnf/unroll.h"
#include "quantize/quantize_sums_simd.h"

/* whole: all columns are there. */
INLINE void nnf_conv2d_store_values_of(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const int whole,
                                       S sum[][2])
{
    const nnf_conv2d_q8_values p = *t->values; /* which no store of values can change */
    const int32_t *offset = t->offset;
    float *c = (float *)t->c;
    const size_t ldc = t->ldc;
    sum_columns columns[2];
    sum_row by[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        columns[v] = sum_columns_at(&p.by, (size_t)(LANES * v), t->columns - (size_t)(LANES * v));
        by[v] = sum_row_of(columns + v, p.row);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const S more = s32_all(offset ? offset[i] : 0);
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            if (p.next)
                by[v] = sum_row_of(columns + v, p.row + i);
            const V value = sum_values(columns + v, by + v, s32_add(sum[i][v], more));
            if (whole)
                store_whole(c + (size_t)i * ldc + LANES * v, value);
            else
                store(c + (size_t)i * ldc + LANES * v, columns[v].live, value);
        }
    }
}

/* Row offsets, values and store of a whole tile. */
INLINE void nnf_conv2d_store_values(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, S sum[][2])
{
    if (t->columns == (size_t)(LANES * vectors))
        nnf_conv2d_store_values_of(t, rows, vectors, 1, sum);
    else
        nnf_conv2d_store_values_of(t, rows, vectors, 0, sum);
}

#endif
