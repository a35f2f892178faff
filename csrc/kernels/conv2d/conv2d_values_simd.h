/* From int32 sums in registers to float32 values, and to codes that are rounded once. Include after
 * nnf/simd/codes_f64_<isa>.h, nnf/simd/s32_<isa>.h and STORE_FIRST(y, count, value), which writes the first `count` lanes,
 * at most all of them. */
#ifndef NNF_CONV2D_VALUES_SIMD_H
#define NNF_CONV2D_VALUES_SIMD_H

#include "conv2d.h"
#include "nnf/unroll.h"
#include "quantize/quantize_once_simd.h"
#include "quantize/quantize_sums_simd.h"

/* Of columns first..first+count-1 of rows row..row+rows-1. whole: the vectors are full. */
INLINE void nnf_conv2d_put_values(const nnf_conv2d_q8_tile *t, size_t row, size_t first, size_t count, const int rows,
                                  const int vectors, const int whole, S sum[][2])
{
    const nnf_conv2d_q8_values p = *t->values; /* which no store of values can change */
    const nnf_row_codes *codes = p.row + row * p.next;
    const int32_t *offset = t->offset ? t->offset + row : NULL;
    const size_t ldc = t->ldc;
    float *c = (float *)t->c + row * ldc + first;
    sum_columns columns[2];
    sum_row by[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        columns[v] = sum_columns_at(&p.by, first + (size_t)(LANES * v), count - (size_t)(LANES * v));
        by[v] = sum_row_of(columns + v, codes);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const S more = s32_all(offset ? offset[i] : 0);
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            if (p.next)
                by[v] = sum_row_of(columns + v, codes + i);
            const V value = sum_values(columns + v, by + v, s32_add(sum[i][v], more));
            if (whole)
                store_whole(c + (size_t)i * ldc + LANES * v, value);
            else
                STORE_FIRST(c + (size_t)i * ldc + LANES * v, count - (size_t)(LANES * v), value);
        }
    }
}

/* Row offsets, values and store of so many columns of a panel that is `vectors` wide. */
INLINE void nnf_conv2d_store_values(const nnf_conv2d_q8_tile *t, size_t row, size_t first, size_t count, const int rows,
                                    const int vectors, S sum[][2])
{
    if (count == (size_t)(LANES * vectors))
        nnf_conv2d_put_values(t, row, first, count, rows, vectors, 1, sum);
    else
        nnf_conv2d_put_values(t, row, first, count, rows, vectors, 0, sum);
}

/* Codes of the same columns and rows. */
INLINE void nnf_conv2d_put_once(const nnf_conv2d_q8_tile *t, size_t row, size_t first, size_t count, const int rows,
                                const int vectors, const int whole, S sum[][2])
{
    const nnf_codes to = {.zero_point = t->zero_point, .lo = t->lo, .hi = t->hi, .flip = t->flip};
    const int32_t *offset = t->offset ? t->offset + row : NULL;
    const once_codes codes = once_codes_of(&to);
    const size_t ldc = t->ldc;
    uint8_t *c = t->c + row * ldc + first;
    once_columns columns[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const size_t before = (size_t)(CODES * v), here = count > before ? count - before : 0;
        columns[v] = once_columns_at(t->scale + first + before, whole ? CODES : here < CODES ? here : CODES);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const S more = s32_all(offset ? offset[i] : 0);
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const S code = once(columns + v, &codes, s32_add(sum[i][v], more));
            if (whole)
                codes_store_whole(c + (size_t)i * ldc + CODES * v, code);
            else
                codes_store(c + (size_t)i * ldc + CODES * v, columns[v].count, code);
        }
    }
}

INLINE void nnf_conv2d_store_once(const nnf_conv2d_q8_tile *t, size_t row, size_t first, size_t count, const int rows,
                                  const int vectors, S sum[][2])
{
    if (count == (size_t)(CODES * vectors))
        nnf_conv2d_put_once(t, row, first, count, rows, vectors, 1, sum);
    else
        nnf_conv2d_put_once(t, row, first, count, rows, vectors, 0, sum);
}

#endif
