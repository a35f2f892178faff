/* Where the largest values stand, in vectors. Include after nnf/simd/s32_<isa>.h, KERNEL, and
 *   fours(x, bytes)            four words at x, and those that are `bytes` further on in each 128 bits
 *   fours_of_bytes(x, bytes)   the same from bytes
 *   turn_fours(S value[4])     what is i-th of the j-th vector in each 128 bits becomes j-th of the i-th */
#ifndef NNF_ARG_SIMD_H
#define NNF_ARG_SIMD_H

#include "arg/arg.h"
#include "nnf/unroll.h"

enum kind { F32, S32, QU8 };

enum {
    VECTORS = 4,
    LONG_CODES = 512, /* from so many on, rows of codes are taken one by one */
};

/* The first `count`, at most LANES, values as bits; others are 0. */
INLINE S values(const enum kind kind, size_t count, const void *x, size_t at, S flip)
{
    const M live = first_lanes(count);
    if (kind == QU8)
        return s32_xor(s32_from_u8(count, (const uint8_t *)x + at), flip);
    if (kind == F32)
        return s32_xor(s32_bits(load(live, (const float *)x + at)), flip);
    const int32_t *from = (const int32_t *)x + at;
    return s32_xor(count == LANES ? s32_load_whole(from) : s32_load(live, from), flip);
}

/* The same as integers of the same order, the two zeros alike; a NaN and what is not asked for come below all others. */
INLINE S keys(const enum kind kind, size_t count, const void *x, size_t at, S flip)
{
    P counts = s32_live(first_lanes(count));
    S key = values(kind, count, x, at, flip);
    if (kind == F32) {
        const V value = add(s32_floats(key), zero());
        key = s32_order(s32_bits(value));
        counts = s32_both(counts, s32_is_number(value));
    }
    return kind != F32 && count == LANES ? key : s32_choose(counts, key, s32_all(INT32_MIN));
}

INLINE void row(const enum kind kind, size_t count, const void *x, int32_t *y, uint32_t flip)
{
    const S turn = s32_all((int32_t)flip);
    *y = 0;
    if (kind == F32 && *(const float *)x != *(const float *)x)
        return;
    S best = s32_all(INT32_MIN);
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        best = s32_max(best, keys(kind, LANES, x, i, turn));
    if (i < count)
        best = s32_max(best, keys(kind, count - i, x, i, turn));
    best = s32_most(best);
    int place = -1;
    for (i = 0; i + LANES <= count; i += LANES) {
        place = s32_place(s32_equal(keys(kind, LANES, x, i, turn), best));
        if (place >= 0)
            break;
    }
    if (place < 0)
        place = s32_place(s32_equal(keys(kind, count - i, x, i, turn), best));
    *y = (int32_t)i + place;
}

/* Values that stand at `at` against the best so far. */
INLINE void compare(const enum kind kind, S value, S at, S *best, S *place)
{
    const P won = kind == F32 ? s32_greater_floats(s32_floats(value), s32_floats(*best)) : s32_greater(value, *best);
    *place = s32_choose(won, at, *place);
    *best = kind == F32 ? s32_bits(larger(s32_floats(value), s32_floats(*best))) : s32_max(value, *best);
}

/* LANES rows of at least 4 values, one in each lane. */
INLINE void rows_abreast(const enum kind kind, size_t count, const void *x, int32_t *y, uint32_t flip)
{
    const size_t item = kind == QU8 ? 1 : 4, bytes = count * item;
    const S turn = s32_all((int32_t)flip), one = s32_all(1);
    S best = s32_all(0), place = s32_all(0);
    for (size_t a = 0; a < count; a += 4) {
        /* At the end some come again, which beat nothing. */
        const size_t from = a + 4 <= count ? a : count - 4;
        const uint8_t *first = (const uint8_t *)x + from * item;
        S value[4], at = s32_all((int32_t)from);
        NNF_UNROLL
        for (size_t i = 0; i < 4; i++)
            value[i] = kind == QU8 ? fours_of_bytes(first + i * bytes, 4 * bytes) : fours(first + i * bytes, 4 * bytes);
        turn_fours(value);
        if (a == 0)
            best = s32_xor(value[0], turn);
        NNF_UNROLL
        for (size_t i = 0; i < 4; i++) {
            compare(kind, s32_xor(value[i], turn), at, &best, &place);
            at = s32_add(at, one);
        }
    }
    s32_store_whole(y, place);
}

INLINE void rows(const enum kind kind, size_t count, size_t n, const void *x, int32_t *y, uint32_t flip)
{
    const size_t item = kind == QU8 ? 1 : 4;
    if (n < LANES || count < 4 || (kind == QU8 && count >= LONG_CODES)) {
        for (size_t i = 0; i < n; i++)
            row(kind, count, (const uint8_t *)x + i * count * item, y + i, flip);
        return;
    }
    for (size_t i = 0; i < n; i += LANES) {
        const size_t first = i + LANES <= n ? i : n - LANES;
        rows_abreast(kind, count, (const uint8_t *)x + first * count * item, y + first, flip);
    }
}

/* LANES columns in each of `vectors`, or the `live` that are left in a single one. More than a cache line at once:
 * columns far apart in memory fall into few sets of a cache and would push each other out before the next pass. */
INLINE void columns(const enum kind kind, const int vectors, size_t count, size_t stride, size_t live, const void *x,
                    size_t at, int32_t *y, S turn)
{
    S best[VECTORS], place[VECTORS];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        best[v] = values(kind, live, x, at + LANES * (size_t)v, turn);
        place[v] = s32_all(0);
    }
    for (size_t a = 1; a < count; a++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const S value = values(kind, live, x, a * stride + at + LANES * (size_t)v, turn);
            compare(kind, value, s32_all((int32_t)a), &best[v], &place[v]);
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (live == LANES)
            s32_store_whole(y + at + LANES * (size_t)v, place[v]);
        else
            s32_store(y + at, first_lanes(live), place[v]);
    }
}

INLINE void across(const enum kind kind, size_t count, size_t stride, size_t n, const void *x, int32_t *y,
                   uint32_t flip)
{
    const S turn = s32_all((int32_t)flip);
    size_t i = 0;
    for (; i + VECTORS * LANES <= n; i += VECTORS * LANES)
        columns(kind, VECTORS, count, stride, LANES, x, i, y, turn);
    for (; i + LANES <= n; i += LANES)
        columns(kind, 1, count, stride, LANES, x, i, y, turn);
    if (i < n)
        columns(kind, 1, count, stride, n % LANES, x, i, y, turn);
}

void KERNEL(nnf_arg_f32_rows)(size_t count, size_t n, const float *x, int32_t *y, uint32_t flip)
{
    rows(F32, count, n, x, y, flip);
}

void KERNEL(nnf_arg_s32_rows)(size_t count, size_t n, const int32_t *x, int32_t *y, uint32_t flip)
{
    rows(S32, count, n, x, y, flip);
}

void KERNEL(nnf_arg_across_f32_rows)(size_t count, size_t stride, size_t n, const float *x, int32_t *y, uint32_t flip)
{
    across(F32, count, stride, n, x, y, flip);
}

void KERNEL(nnf_arg_across_s32_rows)(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y, uint32_t flip)
{
    across(S32, count, stride, n, x, y, flip);
}

void KERNEL(nnf_arg_across_qu8_rows)(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y, uint32_t flip)
{
    across(QU8, count, stride, n, x, y, flip);
}

#endif
