/* Between floats, sums and codes in vectors. Include after nnf/simd/codes_f64_<isa>.h, nnf/simd/s32_<isa>.h and
 * KERNEL. */
#ifndef NNF_QUANTIZE_SIMD_H
#define NNF_QUANTIZE_SIMD_H

#include "nnf/unroll.h"
#include "quantize/quantize.h"
#include "quantize/quantize_once_simd.h"
#include "quantize/quantize_sums_simd.h"

/* The floats of register `part` of `count` codes, at most CODES. */
INLINE V values(size_t count, const float *x, int part)
{
    const size_t before = (size_t)part * LANES;
    if (count == CODES)
        return load_whole(x + before);
    return count > before ? load(first_lanes(count - before), x + before) : zero();
}

/* A scale, and its inverse in two floats; most: where the codes end. */
typedef struct unit {
    V scale, most, inverse, rest;
} unit;

/* Whether quotients by a scale can be had from its inverse: nothing that counts is near the ends of floats. */
INLINE bool has_inverse(float scale) { return scale > 0x1p-60f && scale < 0x1p60f; }

INLINE unit unit_of(float scale)
{
    const float inverse = 1 / scale, rest = (float)(1 / (double)scale - (double)inverse);
    return (unit){all(scale), all(NNF_QUANTIZE_FAR * scale), all(inverse), all(rest)};
}

/* x / scale, of x up to `most`, without a division, which takes longer than all the rest: the first quotient is less than
 * a unit in its last place off, so that what it leaves of x is exact. Times an inverse that is rounded once, this corrects
 * it to the very float that a division gives (Markstein's theorem). Where products are too small for normal floats it may
 * be another, which rounds to 0 as well. */
INLINE V quotient(V x, const unit *by)
{
    const V first = fmadd(x, by->inverse, mul(x, by->rest));
    return fmadd(fnmadd(first, by->scale, x), by->inverse, first);
}

/* by: of a scale that has an inverse, or NULL. */
INLINE void quantize_codes(size_t count, const float *x, uint8_t *y, float scale, const unit *by, int32_t zero_point,
                           int32_t lo, int32_t hi)
{
    const V far = all(NNF_QUANTIZE_FAR);
    V steps[CODE_REGISTERS];
    NNF_UNROLL
    for (int p = 0; p < CODE_REGISTERS; p++) { /* a NaN is far */
        const V value = values(count, x, p);
        steps[p] = by ? quotient(larger(smaller(value, by->most), negative(by->most)), by)
                      : larger(smaller(divide(value, all(scale)), far), negative(far));
    }
    const C code = codes_between(lo, hi, codes_add(codes_nearest(steps), codes_all(zero_point)));
    if (count == CODES)
        codes_store_whole(y, code);
    else
        codes_store(y, count, code);
}

void KERNEL(nnf_quantize_f32_qu8_flat)(size_t n, const float *x, uint8_t *y, float scale, int32_t zero_point,
                                       int32_t lo, int32_t hi)
{
    const unit by = unit_of(scale);
    size_t i = 0;
    if (has_inverse(scale)) {
        for (; i + CODES <= n; i += CODES)
            quantize_codes(CODES, x + i, y + i, scale, &by, zero_point, lo, hi);
    }
    for (; i < n; i += CODES)
        quantize_codes(n - i < CODES ? n - i : CODES, x + i, y + i, scale, NULL, zero_point, lo, hi);
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

/* All rows of `count` columns, at most CODES. */
INLINE void requantize_columns(size_t count, size_t rows, const int32_t *x, size_t ldx, const double *scale,
                               const nnf_codes *to, uint8_t *y, size_t ldy)
{
    const once_columns columns = once_columns_at(scale, count);
    const once_codes codes = once_codes_of(to);
    for (size_t i = 0; i < rows; i++) {
        const C code = once(&columns, &codes, codes_load_s32(count, x + i * ldx));
        if (count == CODES)
            codes_store_whole(y + i * ldy, code);
        else
            codes_store(y + i * ldy, count, code);
    }
}

void KERNEL(nnf_requantize_s32_qu8_rows)(size_t rows, size_t columns, const int32_t *x, size_t ldx, const double *scale,
                                         const nnf_codes *codes, uint8_t *y, size_t ldy)
{
    const nnf_codes to = *codes; /* which no store of codes can change */
    size_t j = 0;
    for (; j + CODES <= columns; j += CODES)
        requantize_columns(CODES, rows, x + j, ldx, scale + j, &to, y + j, ldy);
    if (j < columns)
        requantize_columns(columns % CODES, rows, x + j, ldx, scale + j, &to, y + j, ldy);
}

/* Rows whose sums are read before the first value is written: a load of some lanes may wait for a store of some lanes just
 * before it, if other lanes of them have an address in common. */
enum { SUM_ROWS = 8 };

/* All rows of `count` columns, at most LANES. */
INLINE void sums_columns(size_t count, size_t rows, const int32_t *x, size_t ldx, const nnf_row_codes *row,
                         size_t next, const nnf_sum_scales *by, size_t at, float *y, size_t ldy)
{
    const sum_columns c = sum_columns_at(by, at, count);
    const M live = c.live;
    const size_t most = count == LANES ? 1 : SUM_ROWS;
    sum_row here_by = sum_row_of(&c, row);
    for (size_t first = 0; first < rows; first += most) {
        const size_t here = rows - first < most ? rows - first : most;
        V value[SUM_ROWS];
        for (size_t i = 0; i < here; i++) {
            const int32_t *from = x + (first + i) * ldx + at;
            if (next)
                here_by = sum_row_of(&c, row + first + i);
            value[i] = sum_values(&c, &here_by, count == LANES ? s32_load_whole(from) : s32_load(live, from));
        }
        for (size_t i = 0; i < here; i++) {
            if (count == LANES)
                store_whole(y + (first + i) * ldy + at, value[i]);
            else
                store(y + (first + i) * ldy + at, live, value[i]);
        }
    }
}

/* Narrow rows of the same codes that lie one behind the other: whole vectors, in which the columns repeat. Returns how
 * many rows they hold. */
INLINE size_t sums_repeated(size_t rows, size_t columns, const int32_t *x, const nnf_row_codes *row,
                            const nnf_sum_scales *by, float *y)
{
    int32_t weights[LANES];
    float scale[LANES], bias[LANES];
    nnf_sum_scales repeated = *by;
    for (size_t i = 0; i < LANES; i++) {
        weights[i] = by->weights[i % columns];
        scale[i] = by->scale[i % columns];
        bias[i] = by->bias[i % columns];
    }
    repeated.weights = weights, repeated.scale = scale, repeated.bias = bias;
    const size_t vectors = rows * columns / LANES;
    sums_columns(LANES, vectors, x, LANES, row, 0, &repeated, 0, y, LANES);
    return vectors * (LANES / columns);
}

void KERNEL_FLOATS(nnf_dequantize_s32_f32_rows)(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                                const nnf_row_codes *row, size_t next, const nnf_sum_scales *by,
                                                float *y, size_t ldy)
{
    if (!next && columns && columns < LANES && LANES % columns == 0 && ldx == columns && ldy == columns) {
        const size_t done = sums_repeated(rows, columns, x, row, by, y);
        rows -= done;
        x += done * columns;
        y += done * columns;
    }
    size_t j = 0;
    for (; j + LANES <= columns; j += LANES)
        sums_columns(LANES, rows, x, ldx, row, next, by, j, y, ldy);
    if (j < columns)
        sums_columns(columns % LANES, rows, x, ldx, row, next, by, j, y, ldy);
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
