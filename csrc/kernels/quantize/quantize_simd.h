/* Between floats, sums and codes in vectors. Include after nnf/simd/codes_f64_<isa>.h, nnf/simd/s32_<isa>.h and
 * KERNEL. */
#ifndef NNF_QUANTIZE_SIMD_H
#define NNF_QUANTIZE_SIMD_H

#include "nnf/unroll.h"
#include "quantize/quantize.h"

/* The floats of register `part` of `count` codes, at most CODES. */
INLINE V values(size_t count, const float *x, int part)
{
    const size_t before = (size_t)part * LANES;
    if (count == CODES)
        return load_whole(x + before);
    return count > before ? load(first_lanes(count - before), x + before) : zero();
}

INLINE void quantize_codes(size_t count, const float *x, uint8_t *y, V unit, int32_t zero_point, int32_t lo, int32_t hi)
{
    const V far = all(NNF_QUANTIZE_FAR);
    V steps[CODE_REGISTERS];
    NNF_UNROLL
    for (int p = 0; p < CODE_REGISTERS; p++) /* a NaN is far */
        steps[p] = larger(smaller(divide(values(count, x, p), unit), far), negative(far));
    const C code = codes_between(lo, hi, codes_add(codes_nearest(steps), codes_all(zero_point)));
    if (count == CODES)
        codes_store_whole(y, code);
    else
        codes_store(y, count, code);
}

void KERNEL(nnf_quantize_f32_qu8_flat)(size_t n, const float *x, uint8_t *y, float scale, int32_t zero_point,
                                       int32_t lo, int32_t hi)
{
    const V unit = all(scale);
    size_t i = 0;
    for (; i + CODES <= n; i += CODES)
        quantize_codes(CODES, x + i, y + i, unit, zero_point, lo, hi);
    if (i < n)
        quantize_codes(n % CODES, x + i, y + i, unit, zero_point, lo, hi);
}

/* scale is NULL where all codes have that of the row. */
INLINE void dequantize_codes(const bool is_signed, size_t count, const uint8_t *x, float *y, int32_t zero_point,
                             const float *scale, V same)
{
    const C code = count == CODES ? codes_load_whole(x, is_signed, zero_point)
                                  : codes_load(count, x, is_signed, zero_point);
    NNF_UNROLL
    for (int p = 0; p < CODE_REGISTERS; p++) {
        const size_t before = (size_t)p * LANES;
        const V value = mul(codes_float(code, p), scale ? values(count, scale, p) : same);
        if (count == CODES)
            store_whole(y + before, value);
        else if (count > before)
            store(y + before, first_lanes(count - before), value);
    }
}

INLINE void dequantize(const bool is_signed, size_t n, const uint8_t *x, float *y, int32_t zero_point,
                       const float *scale, size_t step)
{
    if (n == 0)
        return;
    const V same = all(*scale);
    size_t i = 0;
    if (step) {
        for (; i + CODES <= n; i += CODES)
            dequantize_codes(is_signed, CODES, x + i, y + i, zero_point, scale + i, same);
    } else {
        for (; i + CODES <= n; i += CODES)
            dequantize_codes(is_signed, CODES, x + i, y + i, zero_point, NULL, same);
    }
    if (i < n)
        dequantize_codes(is_signed, n % CODES, x + i, y + i, zero_point, step ? scale + i : NULL, same);
}

INLINE void requantize_codes(size_t count, const int32_t *x, const double *scale, const nnf_codes *to, uint8_t *y)
{
    const D low = f64_all(to->lo - to->zero_point - 1), high = f64_all(to->hi - to->zero_point + 1);
    const C sums = codes_load_s32(count, x);
    D steps[CODE_DOUBLES];
    NNF_UNROLL
    for (int p = 0; p < CODE_DOUBLES; p++) { /* a NaN is low */
        const size_t before = (size_t)p * WIDE;
        const D by = f64_load(count > before ? count - before : 0, scale + before);
        steps[p] = f64_smaller(f64_larger(f64_mul(codes_double(sums, p), by), low), high);
    }
    const C code = codes_between(to->lo - to->zero_point, to->hi - to->zero_point, codes_nearest_double(steps));
    const C moved = codes_add(code, codes_all(to->zero_point + to->flip)); /* a sum with 128 flips the top bit */
    if (count == CODES)
        codes_store_whole(y, moved);
    else
        codes_store(y, count, moved);
}

void KERNEL(nnf_requantize_s32_qu8_rows)(size_t rows, size_t columns, const int32_t *x, size_t ldx, const double *scale,
                                         const nnf_codes *codes, uint8_t *y, size_t ldy)
{
    const nnf_codes to = *codes; /* which no store of codes can change */
    for (size_t i = 0; i < rows; i++) {
        size_t j = 0;
        for (; j + CODES <= columns; j += CODES)
            requantize_codes(CODES, x + i * ldx + j, scale + j, &to, y + i * ldy + j);
        if (j < columns)
            requantize_codes(columns % CODES, x + i * ldx + j, scale + j, &to, y + i * ldy + j);
    }
}

/* All rows of `count` columns, at most LANES. */
INLINE void sums_columns(size_t count, size_t rows, const int32_t *x, size_t ldx, const nnf_row_codes *row,
                         const nnf_sum_scales *by, size_t at, float *y, size_t ldy)
{
    const M live = first_lanes(count);
    const V step = all(row->step), lo = all(by->lo), hi = all(by->hi);
    const V scale = load(live, by->scale + at), bias = load(live, by->bias + at), both = mul(step, scale);
    const S excess = s32_mul(s32_all(row->zero), s32_load(live, by->weights + at));
    const int by_rows = by->by_rows;
    for (size_t i = 0; i < rows; i++) {
        const int32_t *from = x + i * ldx + at;
        const V sum = s32_values(s32_sub(count == LANES ? s32_load_whole(from) : s32_load(live, from), excess));
        const V value = between(lo, hi, add(by_rows ? mul(sum, both) : mul(mul(sum, scale), step), bias));
        if (count == LANES)
            store_whole(y + i * ldy + at, value);
        else
            store(y + i * ldy + at, live, value);
    }
}

void KERNEL_FLOATS(nnf_dequantize_s32_f32_rows)(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                                const nnf_row_codes *row, const nnf_sum_scales *by, float *y,
                                                size_t ldy)
{
    size_t j = 0;
    for (; j + LANES <= columns; j += LANES)
        sums_columns(LANES, rows, x, ldx, row, by, j, y, ldy);
    if (j < columns)
        sums_columns(columns % LANES, rows, x, ldx, row, by, j, y, ldy);
}

/* All rows of `count` columns, at most LANES. */
INLINE void scale_columns(size_t count, size_t rows, size_t columns, const float *x, V step, const float *scale,
                          const float *bias, V lo, V hi, float *y)
{
    const M live = first_lanes(count);
    const V by = mul(step, load(live, scale)), offset = load(live, bias);
    for (size_t i = 0; i < rows; i++, x += columns, y += columns) {
        const V value = between(lo, hi, add(mul(count == LANES ? load_whole(x) : load(live, x), by), offset));
        if (count == LANES)
            store_whole(y, value);
        else
            store(y, live, value);
    }
}

void KERNEL_FLOATS(nnf_scale_f32_rows)(size_t rows, size_t columns, const float *x, float step, const float *scale,
                                       const float *bias, float lo, float hi, float *y)
{
    const V by = all(step), low = all(lo), high = all(hi);
    size_t j = 0;
    for (; j + LANES <= columns; j += LANES)
        scale_columns(LANES, rows, columns, x + j, by, scale + j, bias + j, low, high, y + j);
    if (j < columns)
        scale_columns(columns % LANES, rows, columns, x + j, by, scale + j, bias + j, low, high, y + j);
}

void KERNEL(nnf_dequantize_qu8_f32_flat)(size_t n, const uint8_t *x, float *y, int32_t zero_point, const float *scale,
                                         size_t step)
{
    dequantize(false, n, x, y, zero_point, scale, step);
}

void KERNEL(nnf_dequantize_qs8_f32_flat)(size_t n, const uint8_t *x, float *y, int32_t zero_point, const float *scale,
                                         size_t step)
{
    dequantize(true, n, x, y, zero_point, scale, step);
}

#endif
