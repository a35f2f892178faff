/* Softmax of rows of 8-bit codes in vectors. Include after nnf/simd/s32_<isa>.h, u8_<isa>.h, KERNEL, and
 *   looked_up(table, S)        table[lane] of each lane, from 0 to 255
 *   s32_rounded(S, int shift)  lanes, none below 0, over 2^shift, 0 to 31, to nearest, ties up
 *   product_f0(S, S)           rounded products of lanes in F0, none below 0
 *   sum_of_lanes(S)            of numbers that add up within 31 bits
 *   store_codes(count, y, S)   the lowest bytes of the first lanes, at most LANES */
#ifndef NNF_SOFTMAX_Q8_SIMD_H
#define NNF_SOFTMAX_Q8_SIMD_H

#include "nnf/unroll.h"
#include "softmax/softmax.h"
#include "softmax/softmax_q8.h"

/* So many vectors of powers in F12, up to 2^19, add up within 31 bits, all lanes together. */
enum { VECTORS = 128 };

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
        S most = s32_all(0);
        for (size_t i = 0; i < n; i += LANES)
            most = s32_max(most, codes(flip, n - i, x + i, most));
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

/* The sum of powers in F12. */
INLINE int64_t sum_of_powers(uint8_t flip, size_t n, const uint8_t *x, S most, const int32_t *power)
{
    int64_t total = 0;
    for (size_t i = 0; i < n;) {
        const size_t stop = n - i < VECTORS * LANES ? n : i + VECTORS * LANES;
        S sum = s32_all(0);
        for (; i < stop; i += LANES) {
            const S rounded = s32_rounded(at_codes(power, most, flip, stop - i, x + i), 12);
            sum = s32_add(sum, stop - i < LANES ? s32_choose(s32_live(first_lanes(stop - i)), rounded, s32_all(0))
                                                : rounded);
        }
        i = stop;
        total += sum_of_lanes(sum);
    }
    return total;
}

INLINE void softmax_codes(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t *power)
{
    const S most = most_of_codes(flip, n, x);
    int shift;
    const S scale = s32_all(nnf_reciprocal_of_sum(sum_of_powers(flip, n, x, most, power), 8, &shift));
    for (size_t i = 0; i < n; i += LANES) {
        const S found = at_codes(power, most, flip, n - i, x + i);
        /* From 32 bits on nothing is left of a 31-bit product. */
        const S part = shift > 31 ? s32_all(0) : s32_rounded(product_f0(found, scale), shift);
        store_codes(n - i < LANES ? n - i : LANES, y + i, s32_xor(s32_min(part, s32_all(255)), s32_all(flip)));
    }
}

INLINE void log_softmax_codes(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t *power,
                              const int32_t *distance)
{
    const S most = most_of_codes(flip, n, x);
    const S logarithm = s32_all(nnf_logarithm_of_sum((int32_t)sum_of_powers(flip, n, x, most, power)));
    for (size_t i = 0; i < n; i += LANES) {
        const S steps = s32_rounded(s32_add(at_codes(distance, most, flip, n - i, x + i), logarithm), 22);
        /* 255 less the steps; flipped, signed codes are those of the same bits. */
        store_codes(n - i < LANES ? n - i : LANES, y + i, s32_xor(s32_min(steps, s32_all(255)), s32_all(255 ^ flip)));
    }
}

void KERNEL(nnf_softmax_qu8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[256])
{
    softmax_codes(0, n, x, y, power);
}

void KERNEL(nnf_softmax_qs8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[256])
{
    softmax_codes(128, n, x, y, power);
}

void KERNEL(nnf_log_softmax_qu8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[256],
                                      const int32_t distance[256])
{
    log_softmax_codes(0, n, x, y, power, distance);
}

void KERNEL(nnf_log_softmax_qs8_rows)(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[256],
                                      const int32_t distance[256])
{
    log_softmax_codes(128, n, x, y, power, distance);
}

#endif
