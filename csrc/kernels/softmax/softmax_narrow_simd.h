/* Softmax of many rows of few values: a vector holds one value of each of LANES rows. Include after softmax_simd.h and what
 * turns rows into columns: columns_in and columns_out of 1 to 4 vectors, for rows of `step` values of which the first 1 to 4
 * are read or written; rows of 1 to 3 have no others. */
#ifndef NNF_SOFTMAX_NARROW_SIMD_H
#define NNF_SOFTMAX_NARROW_SIMD_H

#include <string.h>

#include "softmax/softmax_simd.h"

/* width: of pieces of rows, n up to 4. Of rows that are no multiple of 4, the last 4 values again: nothing beyond them is
 * touched. */
INLINE void turn_in(size_t n, size_t width, const float *x, V *columns)
{
    size_t first = 0;
    do {
        columns_in(width, n, x + first, columns + first);
        first += width;
    } while (first + width <= n);
    if (n % width)
        columns_in(width, n, x + n - width, columns + n - width);
}

INLINE void turn_out(size_t n, size_t width, const V *columns, float *y)
{
    size_t first = 0;
    do {
        columns_out(width, n, columns + first, y + first);
        first += width;
    } while (first + width <= n);
    if (n % width)
        columns_out(width, n, columns + n - width, y + n - width);
}

/* The value whose product with `sign`, 1 or -1, is the largest. A NaN may get lost: it spoils the sum. */
INLINE V largest_of(size_t n, const V *columns, float sign)
{
    const V turn = all(sign);
    V most = mul(turn, columns[0]);
    for (size_t c = 1; c < n; c++)
        most = larger(most, mul(turn, columns[c]));
    return mul(turn, most);
}

/* LANES rows. */
typedef void (*block_fn)(size_t n, size_t width, const float *x, float *y, float beta);

INLINE void powers_of_rows(size_t n, size_t width, const float *x, float *y, float beta)
{
    const V scale = all(beta);
    V columns[NNF_SOFTMAX_NARROW], sum[4] = {zero(), zero(), zero(), zero()};
    turn_in(n, width, x, columns);
    const V most = largest_of(n, columns, 1);
    for (size_t first = 0; first < n; first += 4) {
        NNF_UNROLL
        for (size_t i = 0; i < 4; i++) {
            if (first + i == n)
                break;
            const V power = exponential(mul(sub(columns[first + i], most), scale));
            sum[i] = add(sum[i], power);
            columns[first + i] = power;
        }
    }
    const V whole = add(add(sum[0], sum[2]), add(sum[1], sum[3]));
    const V least = mul(all(FLT_MIN), whole), inverse = divide(all(1.0f), whole);
    for (size_t c = 0; c < n; c++)
        columns[c] = part_of_sum(columns[c], least, inverse);
    turn_out(n, width, columns, y);
}

INLINE void logarithms(D *x)
{
    double lanes[WIDE * PARTS];
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        f64_store_whole(lanes + p * WIDE, x[p]);
    for (int lane = 0; lane < WIDE * PARTS; lane++)
        lanes[lane] = log(lanes[lane]);
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        x[p] = f64_load_whole(lanes + p * WIDE);
}

INLINE void logarithms_of_rows(size_t n, size_t width, const float *x, float *y, float beta)
{
    const D scale = f64_all(beta);
    V columns[NNF_SOFTMAX_NARROW];
    D most[PARTS], none[PARTS], sum[PARTS];
    turn_in(n, width, x, columns);
    const V best = largest_of(n, columns, beta < 0 ? -1.0f : 1.0f);
    NNF_UNROLL
    for (int part = 0; part < PARTS; part++)
        most[part] = f64_part(best, part);
    all_parts(none, 0);
    all_parts(sum, 0);
    for (size_t c = 0; c < n; c++)
        add_powers(sum, exponential(scaled(columns[c], most, scale, none)));
    logarithms(sum);
    for (size_t c = 0; c < n; c++)
        columns[c] = scaled(columns[c], most, scale, sum);
    turn_out(n, width, columns, y);
}

/* The rows behind the last whole LANES of them go through `rest`. */
INLINE void blocks(size_t rows, size_t n, size_t width, const float *x, float *y, float beta, block_fn block)
{
    size_t row = 0;
    for (; row + LANES <= rows; row += LANES)
        block(n, width, x + row * n, y + row * n, beta);
    if (row < rows) {
        float rest[LANES * NNF_SOFTMAX_NARROW];
        const size_t bytes = (rows - row) * n * sizeof(float);
        memset((char *)rest + bytes, 0, LANES * n * sizeof(float) - bytes);
        memcpy(rest, x + row * n, bytes);
        block(n, width, rest, rest, beta);
        memcpy(y + row * n, rest, bytes);
    }
}

/* With n constant where the columns of rows fit the registers, and always their width. */
INLINE void of_width(size_t rows, size_t n, const float *x, float *y, float beta, block_fn block)
{
    switch (n) {
    case 1: blocks(rows, 1, 1, x, y, beta, block); return;
    case 2: blocks(rows, 2, 2, x, y, beta, block); return;
    case 3: blocks(rows, 3, 3, x, y, beta, block); return;
    case 4: blocks(rows, 4, 4, x, y, beta, block); return;
    case 5: blocks(rows, 5, 4, x, y, beta, block); return;
    case 6: blocks(rows, 6, 4, x, y, beta, block); return;
    case 7: blocks(rows, 7, 4, x, y, beta, block); return;
    case 8: blocks(rows, 8, 4, x, y, beta, block); return;
    default: blocks(rows, n, 4, x, y, beta, block); return;
    }
}

void KERNEL(nnf_softmax_narrow_f32_rows)(size_t rows, size_t n, const float *x, float *y, float beta)
{
    of_width(rows, n, x, y, beta, powers_of_rows);
}

void KERNEL(nnf_log_softmax_narrow_f32_rows)(size_t rows, size_t n, const float *x, float *y, float beta)
{
    of_width(rows, n, x, y, beta, logarithms_of_rows);
}

#endif
