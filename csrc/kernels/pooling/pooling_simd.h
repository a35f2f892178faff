/* Pools in vectors. Include after nnf/simd/{codes,f64,s32,u8}_<isa>.h and KERNEL. */
#ifndef NNF_POOLING_SIMD_H
#define NNF_POOLING_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "nnf/unroll.h"
#include "pooling/pooling.h"

/* One output, LANES channels in each of `vectors`, or for 0 of them those that are live. */
INLINE void window_f32(const nnf_pool *g, size_t rows, size_t columns, const int whole, M live, const bool average,
                       const float *x, float *y, float lo, float hi)
{
    const int vectors = whole ? whole : 1;
    V sum[4];
    N nan[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        sum[v] = all(average ? 0.0f : -INFINITY);
        nan[v] = nan_none();
    }
#pragma GCC unroll 3
    for (size_t i = 0; i < rows; i++, x += g->x.size * g->channels) {
        V part[4], before[4];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            before[v] = part[v] = average ? zero() : sum[v];
        const float *at = x;
#pragma GCC unroll 3
        for (size_t j = 0; j < columns; j++, at += g->channels) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const V value = whole ? load_whole(at + LANES * v) : load(live, at);
                part[v] = average ? add(part[v], value) : largest(part[v], value);
                if (!average && j % 2) /* one comparison for two columns */
                    nan[v] = nan_join(nan[v], before[v], value);
                else if (!average && j + 1 == columns)
                    nan[v] = nan_join(nan[v], value, value);
                before[v] = value;
            }
        }
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = average ? add(sum[v], part[v]) : part[v];
    }
    const V count = all((float)(rows * columns));
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const V value = between(all(lo), all(hi), average ? divide(sum[v], count) : nan_put(nan[v], sum[v]));
        if (whole)
            store_whole(y + LANES * v, value);
        else
            store(y, live, value);
    }
}

/* The average of a window, row after row, whose sums so far are in y: of its pixels, which may crowd a set of the level 1
 * cache where a vector's are read together, each is read to the end. For whole blocks of so many channels. */
enum { BLOCK = 4 * LANES, MANY = 16 }; /* MANY: positions of a window from which on that is faster */

INLINE void average_by_rows_f32(const nnf_pool *g, size_t rows, size_t columns, size_t channels, const float *x, float *y,
                                float lo, float hi)
{
    const V count = all((float)(rows * columns));
    for (size_t i = 0; i < rows; i++, x += g->x.size * g->channels) {
        for (size_t c = 0; c < channels; c += BLOCK) {
            const float *at = x + c;
            V part[4];
            NNF_UNROLL
            for (int v = 0; v < 4; v++)
                part[v] = zero();
            for (size_t j = 0; j < columns; j++, at += g->channels) {
                NNF_UNROLL
                for (int v = 0; v < 4; v++)
                    part[v] = add(part[v], load_whole(at + LANES * v));
            }
            NNF_UNROLL
            for (int v = 0; v < 4; v++) {
                V sum = add(i ? load_whole(y + c + LANES * v) : zero(), part[v]);
                if (i + 1 == rows)
                    sum = between(all(lo), all(hi), divide(sum, count));
                store_whole(y + c + LANES * v, sum);
            }
        }
    }
}

/* What all outputs of codes share. */
typedef struct code_pool {
    const nnf_pool *g;
    int32_t lo, hi;
    bool is_signed;
} code_pool;

INLINE B more(const code_pool *p, B a, B b) { return p->is_signed ? u8_max_signed(a, b) : u8_max(a, b); }
INLINE B less(const code_pool *p, B a, B b) { return p->is_signed ? u8_min_signed(a, b) : u8_min(a, b); }

#include "pooling/pooling_separable_simd.h"

INLINE void pool_f32(const nnf_pool *pool, size_t first, size_t last, size_t begin, size_t end, const float *x, float *y,
                     float lo, float hi, const bool average)
{
    const nnf_pool own = *pool, *g = &own; /* which no store of codes or floats can change */
    const M every = first_lanes(LANES), live = first_lanes((end - begin) % LANES);
    const bool separable = overlaps(g), narrow = !average && is_narrow(g, begin, end, LANES, sizeof *x);
    for (size_t row = first; row < last; row++) {
        const nnf_pool_span rows = nnf_pool_along(&g->y, row);
        if (narrow || separable) {
            if (narrow)
                narrow_row_f32(g, rows, x, y, lo, hi);
            else
                overlapping_row_f32(g, rows, begin, end, average, x, y, lo, hi);
            y += g->x.out * g->channels;
            continue;
        }
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, rows, column);
            const float *from = x + w.start;
            size_t c = begin;
            if (average && w.rows * w.columns >= MANY) {
                average_by_rows_f32(g, w.rows, w.columns, (end - begin) / BLOCK * BLOCK, from + c, y + c, lo, hi);
                c += (end - begin) / BLOCK * BLOCK;
            }
            for (; c + BLOCK <= end; c += BLOCK)
                window_f32(g, w.rows, w.columns, 4, every, average, from + c, y + c, lo, hi);
            for (; c + 2 * LANES <= end; c += 2 * LANES)
                if (w.rows == 3 && w.columns == 3)
                    window_f32(g, 3, 3, 2, every, average, from + c, y + c, lo, hi);
                else
                    window_f32(g, w.rows, w.columns, 2, every, average, from + c, y + c, lo, hi);
            if (c + LANES <= end) {
                window_f32(g, w.rows, w.columns, 1, every, average, from + c, y + c, lo, hi);
                c += LANES;
            }
            if (c < end)
                window_f32(g, w.rows, w.columns, 0, live, average, from + c, y + c, lo, hi);
        }
    }
}

/* WIDE channels of one output, or fewer. */
INLINE void root_mean_square(const nnf_pool *g, const nnf_pool_window *w, size_t channels, const float *x, float *y,
                             float lo, float hi)
{
    D sum = f64_all(0);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        const float *at = x;
        for (size_t j = 0; j < w->columns; j++, at += g->channels) {
            const D value = f64_widen(channels, at);
            sum = f64_fmadd(value, value, sum);
        }
    }
    const D root = f64_root(f64_divide(sum, f64_all((double)(w->rows * w->columns))));
    f64_narrow(y, channels, f64_smaller(f64_all((double)hi), f64_larger(f64_all((double)lo), root)));
}

void KERNEL_DOUBLES(nnf_l2_pool2d_f32_nhwc)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                            const float *x, float *y, float lo, float hi)
{
    for (size_t row = first; row < last; row++) {
        const nnf_pool_span rows = nnf_pool_along(&g->y, row);
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, rows, column);
            size_t c = begin;
            for (; c + WIDE <= end; c += WIDE)
                root_mean_square(g, &w, WIDE, x + w.start + c, y + c, lo, hi);
            if (c < end)
                root_mean_square(g, &w, (end - begin) % WIDE, x + w.start + c, y + c, lo, hi);
        }
    }
}

/* -- codes --------------------------------------------------------------------------------------------------------- */
/* One output, BYTES channels in each of `vectors`, or for 0 of them the first `channels`, fewer than BYTES. */
INLINE void max_codes(const code_pool *p, size_t rows, size_t columns, const int whole, size_t channels,
                      const uint8_t *x, uint8_t *y)
{
    const int vectors = whole ? whole : 1;
    const nnf_pool *g = p->g;
    B most[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        most[v] = u8_all((uint8_t)p->lo);
#pragma GCC unroll 3
    for (size_t i = 0; i < rows; i++, x += g->x.size * g->channels) {
        const uint8_t *at = x;
#pragma GCC unroll 3
        for (size_t j = 0; j < columns; j++, at += g->channels) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                most[v] = more(p, most[v], whole ? u8_load_whole(at + BYTES * v) : u8_load(channels, at));
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        most[v] = less(p, most[v], u8_all((uint8_t)p->hi));
        if (whole)
            u8_store_whole(y + BYTES * v, most[v]);
        else
            u8_store(y, channels, most[v]);
    }
}

/* All channels of one output; of those that fill no vector, some once more, to the same codes. */
INLINE void max_window(const code_pool *p, size_t rows, size_t columns, size_t channels, const uint8_t *x, uint8_t *y)
{
    size_t c = 0;
    for (; c + 4 * BYTES <= channels; c += 4 * BYTES)
        max_codes(p, rows, columns, 4, 0, x + c, y + c);
    for (; c + 2 * BYTES <= channels; c += 2 * BYTES)
        max_codes(p, rows, columns, 2, 0, x + c, y + c);
    for (; c + BYTES <= channels; c += BYTES)
        max_codes(p, rows, columns, 1, 0, x + c, y + c);
    if (c < channels && c)
        max_codes(p, rows, columns, 1, 0, x + channels - BYTES, y + channels - BYTES);
    else if (c < channels)
        max_codes(p, rows, columns, 0, channels, x, y);
}

/* So many codes fit into a sum of 16 bits. */
enum { SHORT_SUM = 256 };

/* The code, plus flip, of the mean of n codes, each plus flip; rounded away from zero. */
INLINE S mean(const code_pool *p, int32_t flip, S sum, int32_t n)
{
    sum = s32_sub(sum, s32_all(n * flip));
    const S half = s32_choose(s32_greater(sum, s32_all(0)), s32_all(n / 2), s32_all(-(n / 2)));
    const S code = s32_cut(divide(s32_values(s32_add(sum, half)), all((float)n)));
    return s32_add(s32_min(s32_max(code, s32_all(p->lo)), s32_all(p->hi)), s32_all(flip));
}

/* BYTES channels of one output. */
INLINE void average_bytes(const code_pool *p, const nnf_pool_window *w, const uint8_t *x, uint8_t *y)
{
    const nnf_pool *g = p->g;
    const B flip = u8_all(p->is_signed ? 128 : 0);
    S sum[QUARTERS];
    NNF_UNROLL
    for (int q = 0; q < QUARTERS; q++)
        sum[q] = s32_all(0);
    H part = u8_short_none();
    size_t terms = 0;
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        const uint8_t *at = x;
        for (size_t j = 0; j < w->columns; j++, at += g->channels) {
            part = u8_short_sum(part, u8_xor(u8_load_whole(at), flip));
            if (++terms == SHORT_SUM) {
                u8_long_sum(sum, part);
                part = u8_short_none();
                terms = 0;
            }
        }
    }
    u8_long_sum(sum, part);
    NNF_UNROLL
    for (int q = 0; q < QUARTERS; q++)
        sum[q] = mean(p, p->is_signed ? 128 : 0, sum[q], (int32_t)(w->rows * w->columns));
    u8_store_whole(y, u8_xor(u8_of_s32(sum), flip));
}

/* CODES channels of one output, or fewer. */
INLINE void average_codes(const code_pool *p, const nnf_pool_window *w, size_t channels, const uint8_t *x, uint8_t *y)
{
    const nnf_pool *g = p->g;
    C sum = codes_all(0);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        const uint8_t *at = x;
        for (size_t j = 0; j < w->columns; j++, at += g->channels)
            sum = codes_add(sum, channels == CODES ? codes_load_whole(at, p->is_signed, 0)
                                                   : codes_load(channels, at, p->is_signed, 0));
    }
    const int32_t n = (int32_t)(w->rows * w->columns);
    const V count = all((float)n), half = all((float)(n / 2)), sign = all(-0.0f);
    V value[CODE_REGISTERS];
    NNF_UNROLL
    for (int part = 0; part < CODE_REGISTERS; part++) { /* sums of up to 2^23 are whole as floats */
        const V total_of = codes_float(sum, part);
        value[part] = divide(add(total_of, bits_or(half, bits_and(total_of, sign))), count);
    }
    codes_store(y, channels, codes_between(p->lo, p->hi, codes_whole(value)));
}

INLINE void pool_q8(const nnf_pool *pool, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
                    uint8_t *y, int32_t lo, int32_t hi, const bool average, const bool is_signed)
{
    const nnf_pool own = *pool, *g = &own; /* which no store of codes or floats can change */
    const code_pool p = {g, lo, hi, is_signed};
    const bool separable = !average && overlaps(g), narrow = !average && is_narrow(g, begin, end, BYTES, 1);
    for (size_t row = first; row < last; row++) {
        const nnf_pool_span rows = nnf_pool_along(&g->y, row);
        if (narrow || separable) {
            if (narrow)
                narrow_row_codes(&p, rows, x, y);
            else
                overlapping_row_codes(&p, rows, begin, end, x, y);
            y += g->x.out * g->channels;
            continue;
        }
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, rows, column);
            const uint8_t *from = x + w.start;
            if (!average) {
                if (w.rows == 3 && w.columns == 3)
                    max_window(&p, 3, 3, end - begin, from + begin, y + begin);
                else
                    max_window(&p, w.rows, w.columns, end - begin, from + begin, y + begin);
                continue;
            }
            size_t c = begin;
            for (; c + BYTES <= end; c += BYTES)
                average_bytes(&p, &w, from + c, y + c);
            if (c < end && c > begin) { /* some channels once more, to the same codes */
                average_bytes(&p, &w, from + end - BYTES, y + end - BYTES);
                continue;
            }
            for (; c + CODES <= end; c += CODES)
                average_codes(&p, &w, CODES, from + c, y + c);
            if (c < end)
                average_codes(&p, &w, (end - begin) % CODES, from + c, y + c);
        }
    }
}

/* -- codes of 16 bits ---------------------------------------------------------------------------------------------- */
/* The mean of n codes, rounded away from zero. What the rate has too much keeps quotients from falling below whole
 * numbers, and at less than 2^16 lifts none to the next, 1 / n away. */
INLINE S mean_word(S sum, int32_t n)
{
    const D rate = f64_all((1 + 0x1p-40) / n);
    sum = s32_add(sum, s32_choose(s32_greater(sum, s32_all(0)), s32_all(n / 2), s32_all(-(n / 2))));
    D parts[PARTS];
    NNF_UNROLL
    for (int part = 0; part < PARTS; part++)
        parts[part] = f64_mul(f64_integers(sum, part), rate);
    return f64_cut(parts);
}

/* One output, LANES channels in each of `vectors`, or for 0 of them the first `channels`, fewer than LANES. */
INLINE void window_q16(const nnf_pool *g, const nnf_pool_window *w, const int whole, size_t channels, const bool average,
                       const int16_t *x, int16_t *y, int32_t lo, int32_t hi)
{
    const int vectors = whole ? whole : 1;
    int16_t some[LANES] = {0};
    S sum[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = s32_all(average ? 0 : lo);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        const int16_t *at = x;
        for (size_t j = 0; j < w->columns; j++, at += g->channels) {
            if (!whole)
                memcpy(some, at, channels * sizeof *at);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const S value = s32_load_s16(whole ? at + LANES * v : some);
                sum[v] = average ? s32_add(sum[v], value) : s32_max(sum[v], value);
            }
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const S value = average ? mean_word(sum[v], (int32_t)(w->rows * w->columns)) : sum[v];
        s32_store_s16(whole ? y + LANES * v : some, s32_min(s32_max(value, s32_all(lo)), s32_all(hi)));
    }
    if (!whole)
        memcpy(y, some, channels * sizeof *y);
}

INLINE void pool_q16(const nnf_pool *pool, size_t first, size_t last, size_t begin, size_t end, const int16_t *x,
                     int16_t *y, int32_t lo, int32_t hi, const bool average)
{
    const nnf_pool own = *pool, *g = &own; /* which no store of codes or floats can change */
    for (size_t row = first; row < last; row++) {
        const nnf_pool_span rows = nnf_pool_along(&g->y, row);
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, rows, column);
            const int16_t *from = x + w.start;
            size_t c = begin;
            for (; c + 4 * LANES <= end; c += 4 * LANES)
                window_q16(g, &w, 4, 0, average, from + c, y + c, lo, hi);
            for (; c + LANES <= end; c += LANES)
                window_q16(g, &w, 1, 0, average, from + c, y + c, lo, hi);
            if (c < end && c > begin) /* some channels once more, to the same codes */
                window_q16(g, &w, 1, 0, average, from + end - LANES, y + end - LANES, lo, hi);
            else if (c < end)
                window_q16(g, &w, 0, end - c, average, from + c, y + c, lo, hi);
        }
    }
}

#include "pooling/pooling_kernels.h"

#endif
