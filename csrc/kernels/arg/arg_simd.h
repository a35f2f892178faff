/* Where the largest values stand, in vectors. Include after nnf/simd/s32_<isa>.h and KERNEL. */
#ifndef NNF_ARG_SIMD_H
#define NNF_ARG_SIMD_H

#include "arg/arg.h"
#include "nnf/unroll.h"

enum kind { F32, S32, QU8 };

enum { VECTORS = 4 };

/* The first `count`, at most LANES, values as integers of the same order, the two zeros alike; a NaN and what is not
 * asked for come below all others. */
INLINE S keys(const enum kind kind, size_t count, const void *x, size_t at, S flip)
{
    const M live = first_lanes(count);
    P counts = s32_live(live);
    S key;
    if (kind == F32) {
        const V value = add(s32_floats(s32_xor(s32_bits(load(live, (const float *)x + at)), flip)), zero());
        key = s32_order(s32_bits(value));
        counts = s32_both(counts, s32_is_number(value));
    } else if (kind == S32) {
        const int32_t *from = (const int32_t *)x + at;
        key = s32_xor(count == LANES ? s32_load_whole(from) : s32_load(live, from), flip);
    } else {
        key = s32_xor(s32_from_u8(count, (const uint8_t *)x + at), flip);
    }
    return kind != F32 && count == LANES ? key : s32_choose(counts, key, s32_all(INT32_MIN));
}

INLINE void rows(const enum kind kind, size_t count, const void *x, int32_t *y, uint32_t flip)
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

/* LANES columns in each of `vectors`, or the `live` that are left in a single one. More than a cache line at once:
 * columns far apart in memory fall into few sets of a cache and would push each other out before the next pass. */
INLINE void columns(const enum kind kind, const int vectors, size_t count, size_t stride, size_t live, const void *x,
                    size_t at, int32_t *y, S turn)
{
    S best[VECTORS], place[VECTORS];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const size_t from = at + LANES * (size_t)v;
        best[v] = keys(kind, live, x, from, turn);
        place[v] = s32_all(0);
        if (kind == F32) /* nothing beats a NaN that stands first */
            best[v] = s32_choose(s32_is_number(load(first_lanes(live), (const float *)x + from)), best[v],
                                 s32_all(INT32_MAX));
    }
    for (size_t a = 1; a < count; a++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const S key = keys(kind, live, x, a * stride + at + LANES * (size_t)v, turn);
            place[v] = s32_choose(s32_greater(key, best[v]), s32_all((int32_t)a), place[v]);
            best[v] = s32_max(best[v], key);
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

void KERNEL(nnf_arg_f32_rows)(size_t count, const float *x, int32_t *y, uint32_t flip)
{
    rows(F32, count, x, y, flip);
}

void KERNEL(nnf_arg_s32_rows)(size_t count, const int32_t *x, int32_t *y, uint32_t flip)
{
    rows(S32, count, x, y, flip);
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
