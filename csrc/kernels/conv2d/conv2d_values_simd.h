/* From int32 sums in registers to float32 values, and to codes that are rounded once. Include after
 * nnf/simd/codes_f64_<isa>.h, nnf/simd/s32_<isa>.h and STORE_FIRST(y, count, value), which writes the first `count` lanes,
 * at most all of them. */
#ifndef NNF_CONV2D_VALUES_SIMD_H
#define NNF_CONV2D_VALUES_SIMD_H

#include <math.h>

#include "conv2d.h"
#include "nnf/unroll.h"
#include "quantize/quantize_once_simd.h"
#include "quantize/quantize_sums_simd.h"

/* Of columns first..first+count-1 of rows row..row+rows-1, in registers. whole: the vectors are full. */
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

/* What loops over rows need not ask: scales by rows, codes of each row, sums of weights that fit 16 bits, limits. */
enum { BY_ROWS = 1, EACH = 2, SHORT = 4, CLAMPED = 8 };

/* A whole vector of columns, of rows of sums that are two vectors long. */
INLINE void put_column(const nnf_conv2d_q8_tile *t, const int form, const sum_columns *c, const nnf_row_codes *codes,
                       const int32_t *offset, size_t rows, const int32_t *sums, float *y)
{
    const size_t ldc = t->ldc;
    S excess = s32_mul(s32_all(codes->zero), c->weights);
    V step = all(codes->step), scale = form & BY_ROWS ? mul(c->scale, step) : c->scale;
    for (size_t i = 0; i < rows; i++, sums += 2 * LANES, y += ldc) {
        if (form & EACH) {
            const S zero = s32_all(codes[i].zero);
            excess = form & SHORT ? codes_mul_short(c->weights, zero) : s32_mul(c->weights, zero);
            step = all(codes[i].step);
            scale = form & BY_ROWS ? mul(c->scale, step) : c->scale;
        }
        S sum = s32_load_whole(sums);
        if (offset)
            sum = s32_add(sum, s32_all(offset[i]));
        V value = mul(s32_values(s32_sub(sum, excess)), scale);
        value = add(form & BY_ROWS ? value : mul(value, step), c->bias);
        store_whole(y, form & CLAMPED ? between(c->lo, c->hi, value) : value);
    }
}

INLINE int fits_16_bits(S x)
{
    return s32_place(s32_greater(x, s32_all(INT16_MAX))) < 0 && s32_place(s32_greater(s32_all(INT16_MIN), x)) < 0;
}

/* Of whole vectors from column `first` on; sums: [rows][2 * LANES]. One function for all heights of a tile. */
static __attribute__((noinline)) void put_rows(const nnf_conv2d_q8_tile *t, size_t row, size_t first, size_t vectors,
                                               size_t rows, const int32_t *sums)
{
    const nnf_conv2d_q8_values *p = t->values;
    const nnf_row_codes *codes = p->row + row * p->next;
    const int32_t *offset = t->offset ? t->offset + row : NULL;
    float *y = (float *)t->c + row * t->ldc + first;
    for (size_t v = 0; v < vectors; v++, first += LANES, sums += LANES, y += LANES) {
        const sum_columns c = sum_columns_at(&p->by, first, LANES);
        const int form = (p->by.by_rows ? BY_ROWS : 0) | (p->next ? EACH | (fits_16_bits(c.weights) ? SHORT : 0) : 0) |
                         (p->by.lo > -INFINITY || p->by.hi < INFINITY ? CLAMPED : 0);
#define FORM(n)                                                                                                        \
    case n:                                                                                                            \
        put_column(t, n, &c, codes, offset, rows, sums, y);                                                            \
        break;
        switch (form) {
        FORM(0) FORM(BY_ROWS) FORM(EACH) FORM(EACH | BY_ROWS) FORM(EACH | SHORT) FORM(EACH | SHORT | BY_ROWS)
        FORM(CLAMPED) FORM(CLAMPED | BY_ROWS) FORM(CLAMPED | EACH) FORM(CLAMPED | EACH | BY_ROWS)
        FORM(CLAMPED | EACH | SHORT) FORM(CLAMPED | EACH | SHORT | BY_ROWS)
        }
#undef FORM
    }
}

enum { MOST_SUMS = 12, FEW_ROWS = 2 };

/* Row offsets, values and store of so many columns of a panel that is `vectors` wide. */
INLINE void nnf_conv2d_store_values(const nnf_conv2d_q8_tile *t, size_t row, size_t first, size_t count, const int rows,
                                    const int vectors, S sum[][2])
{
    if (rows > FEW_ROWS && count == (size_t)(LANES * vectors)) {
        _Alignas(64) int32_t sums[MOST_SUMS][2 * LANES];
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                s32_store_whole(sums[i] + LANES * v, sum[i][v]);
        }
        put_rows(t, row, first, (size_t)vectors, (size_t)rows, sums[0]);
    } else if (count == (size_t)(LANES * vectors)) {
        nnf_conv2d_put_values(t, row, first, count, rows, vectors, 1, sum);
    } else {
        nnf_conv2d_put_values(t, row, first, count, rows, vectors, 0, sum);
    }
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
