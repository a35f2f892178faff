/* From sums of codes that were made at run time to values, a vector at a time: nnf_sum_value of quantize.h. Include after
 * nnf/simd/s32_<isa>.h. */
#ifndef NNF_QUANTIZE_SUMS_SIMD_H
#define NNF_QUANTIZE_SUMS_SIMD_H

#include "nnf/unroll.h"
#include "quantize/quantize.h"

/* What all rows share, of the columns of a vector. */
typedef struct sum_columns {
    M live;
    V scale, bias, lo, hi;
    S weights;
    int by_rows;
} sum_columns;

/* What they make of the codes of a row: values are (sum - excess) * scale * step + bias. */
typedef struct sum_row {
    V scale, step;
    S excess;
} sum_row;

INLINE sum_columns sum_columns_at(const nnf_sum_scales *by, size_t at, size_t count)
{
    const M live = first_lanes(count);
    return (sum_columns){.live = live, .scale = load(live, by->scale + at), .bias = load(live, by->bias + at),
                         .lo = all(by->lo), .hi = all(by->hi), .weights = s32_load(live, by->weights + at),
                         .by_rows = by->by_rows};
}

/* A product with 1 changes nothing. */
INLINE sum_row sum_row_of(const sum_columns *c, const nnf_row_codes *row)
{
    return (sum_row){.scale = mul(c->scale, all(c->by_rows ? row->step : 1.0f)),
                     .step = all(c->by_rows ? 1.0f : row->step),
                     .excess = s32_mul(s32_all(row->zero), c->weights)};
}

INLINE V sum_values(const sum_columns *c, const sum_row *row, S sums)
{
    const V plain = s32_values(s32_sub(sums, row->excess));
    return between(c->lo, c->hi, add(mul(mul(plain, row->scale), row->step), c->bias));
}

#endif
