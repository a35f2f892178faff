/* Softmax of rows of 8-bit codes in vectors. Include after nnf/simd/s32_<isa>.h, u8_<isa>.h, KERNEL, and
 *   looked_up(table, S)        table[lane] of each lane, from 0 to 255
 *   s32_rounded(S, int shift)  lanes, none below 0, over 2^shift, 0 to 31, to nearest, ties up
 *   s32_first(S)               the first lane
 *   product_f0(S, S)           nnf_srdhm of lanes, the lowest number in one of them only
 *   store_codes(count, y, S)   the lowest bytes of the first lanes, at most LANES */
#ifndef NNF_SOFTMAX_Q8_SIMD_H
#define NNF_SOFTMAX_Q8_SIMD_H

#include "nnf/unroll.h"
#include "softmax/softmax.h"
#include "softmax/softmax_q8.h"

enum { LONG = 128 }; /* From so many codes on, a table of those of a row pays. */

/* Codes as unsigned ones; lanes beyond `count` are those of `rest`. */
INLINE S codes(uint8_t flip, size_t count, const uint8_t *x, S rest)
{
    const S found = s32_xor(s32_from_u8(count < LANES ? count : LANES, x), s32_all(flip));
    return count < LANES ? s32_choose(s32_live(first_lanes(count)), found, rest) : found;
}

/* The largest code, in all lanes. */
INLINE S most_of_codes(uint8_t flip, size_t n, const uint8_t *x)
{
    if (n < BYTES) {
        S most = n < LANES ? codes(flip, n, x, s32_all(0)) : codes(flip, LANES, x + n - LANES, s32_all(0));
        for (size_t i = 0; i + LANES < n; i += LANES)
            most = s32_max(most, codes(flip, LANES, x + i, most));
        return s32_most(most);
    }
    const B turn = u8_all(255 ^ flip);
    B least = u8_xor(u8_load_whole(x + n - BYTES), turn);
    for (size_t i = 0; i + BYTES < n; i += BYTES)
        least = u8_min(least, u8_xor(u8_load_whole(x + i), turn));
    return s32_all(255 ^ u8_least(least));
}

/* What a table of differences has for codes; lanes beyond `count` are those of no difference. */
INLINE S at_codes(const int32_t *table, S most, uint8_t flip, size_t count, const uint8_t *x)
{
    return looked_up(table, s32_sub(most, codes(flip, count, x, most)));
}

/* The sum of powers in F12; top: the largest of x. One by one they are found in fewer steps than in vectors. */
INLINE int64_t sum_of_powers(size_t n, const uint8_t *x, uint8_t top, const int32_t *power)
{
    uint8_t places[BYTES];
    int64_t sum = 0;
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES) {
        u8_store_whole(places, u8_sub(u8_all(top), u8_load_whole(x + i)));
        int32_t part[4] = {0};
        NNF_UNROLL
        for (size_t k = 0; k < BYTES; k += 4) {
            NNF_UNROLL
            for (size_t v = 0; v < 4; v++)
                part[v] += power[places[k + v]];
        }
        sum += part[0] + part[1] + part[2] + part[3];
    }
    int32_t part[2] = {0};
    for (; i + 2 <= n; i += 2) {
        part[0] += power[(uint8_t)(top - x[i])];
        part[1] += power[(uint8_t)(top - x[i + 1])];
    }
    return sum + part[0] + part[1] + (i < n ? power[(uint8_t)(top - x[i])] : 0);
}

/* How numbers of a table become codes: parts by the reciprocal of the sum, or distances from its logarithm. */
typedef struct {
    S of_sum;
    int shift; /* of parts */
    uint8_t flip;
} result;

INLINE S code_of(const int is_logarithm, S number, result p)
{
    if (is_logarithm) /* 255 less the steps */
        return s32_xor(s32_min(s32_rounded(s32_add(number, p.of_sum), 22), s32_all(255)), s32_all(255 ^ p.flip));
    /* From 32 bits on nothing is left of a 31-bit product. */
    const S part = p.shift > 31 ? s32_all(0) : s32_rounded(product_f0(number, p.of_sum), p.shift);
    return s32_xor(s32_min(part, s32_all(255)), s32_all(p.flip));
}

INLINE void put_codes(const int is_logarithm, size_t n, const uint8_t *x, uint8_t *y, S most, const int32_t *table,
                      result p)
{
    if (n < LONG) {
        /* The last vector overlaps the one before; it is read before y, which may be x, is written. */
        const size_t count = n < LANES ? n : LANES;
        const S last = at_codes(table, most, p.flip, count, x + n - count);
        for (size_t i = 0; i + LANES < n; i += LANES)
            store_codes(LANES, y + i, code_of(is_logarithm, at_codes(table, most, p.flip, LANES, x + i), p));
        store_codes(count, y + n - count, code_of(is_logarithm, last, p));
        return;
    }
    const uint8_t top = (uint8_t)s32_first(most) ^ p.flip;
    uint8_t codes[256];
    for (size_t d = 0; d < 256; d += LANES)
        store_codes(LANES, codes + d, code_of(is_logarithm, s32_load_whole(table + d), p));
    B rows[TABLE_ROWS];
    u8_rows(rows, codes);
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        u8_store_whole(y + i, u8_at(rows, u8_sub(u8_all(top), u8_load_whole(x + i))));
    for (; i < n; i++)
        y[i] = codes[(uint8_t)(top - x[i])];
}

INLINE void softmax_codes(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t *power)
{
    const S most = most_of_codes(flip, n, x);
    const int64_t sum = sum_of_powers(n, x, (uint8_t)s32_first(most) ^ flip, power + 256);
    result p = {.flip = flip};
    p.of_sum = s32_all(nnf_reciprocal_of_sum(sum, 8, &p.shift));
    put_codes(0, n, x, y, most, power, p);
}

INLINE void log_softmax_codes(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t *distance)
{
    const S most = most_of_codes(flip, n, x);
    const int64_t sum = sum_of_powers(n, x, (uint8_t)s32_first(most) ^ flip, distance + 256);
    put_codes(1, n, x, y, most, distance, (result){.of_sum = s32_all(nnf_logarithm_of_sum((int32_t)sum)), .flip = flip});
}

void KERNEL(nnf_softmax_qu8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    softmax_codes(0, n, x, y, power);
}

void KERNEL(nnf_softmax_qs8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    softmax_codes(128, n, x, y, power);
}

void KERNEL(nnf_log_softmax_qu8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t distance[512])
{
    log_softmax_codes(0, n, x, y, distance);
}

void KERNEL(nnf_log_softmax_qs8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t distance[512])
{
    log_softmax_codes(128, n, x, y, distance);
}

#endif
