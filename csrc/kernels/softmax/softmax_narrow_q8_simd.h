/* Softmax of many rows of few 8-bit codes: a vector holds one code of each of LANES rows. Include after what
 * softmax_q8_simd.h asks for and
 *   fours(x, step)                     4 codes of each of LANES rows of `step` codes, the first in a lane's lowest byte
 *   put_fours(y, step, S)
 *   threes(x)                          the codes of LANES rows of 3, and 0 in the highest bytes
 *   put_threes(y, S)
 *   most_of_bytes(S)                   the largest byte of a lane, in all four of them
 *   s32_up, s32_down(S, int bits)      lanes shifted, 0 moves in
 *   s32_up_each, s32_down_each(S, S)   each lane by bits of its own */
#ifndef NNF_SOFTMAX_NARROW_Q8_SIMD_H
#define NNF_SOFTMAX_NARROW_Q8_SIMD_H

#include <string.h>

#include "softmax/softmax_q8_simd.h"

/* nnf_reciprocal_of_sum for parts of 8 bits. Sums of at most 32 powers in F12, up to 2^24, are floats without rounding:
 * their exponents tell the shifts, their fractions what the sums have above a power of two. Only the last step
 * saturates, for powers of two. */
INLINE S reciprocal_of_sums(S sum, S *shift)
{
    const S bits = s32_bits(s32_values(sum)), one = s32_all(1 << 29); /* F2 */
    *shift = s32_sub(s32_down(bits, 23), s32_all(127 - 4));
    const S half = s32_add(s32_down(s32_up(bits, 9), 2), s32_all(1 << 30));
    S x = s32_add(s32_all(1515870810), product_f0(half, s32_all(-1010580540)));
    NNF_UNROLL
    for (int i = 0; i < 3; i++)
        x = s32_add(x, s32_up(product_f0(x, s32_sub(one, product_f0(half, x))), 2));
    const S most = s32_all(INT32_MAX >> 1);
    return s32_choose(s32_greater(x, most), s32_all(INT32_MAX), s32_up(x, 1));
}

/* LANES rows. The last 4 codes of rows of more than 4 are read and written again where n is no multiple of 4. */
INLINE void codes_of_rows(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t *power)
{
    const size_t pieces = (n + 3) / 4, over = n % 4;
    const S turn = s32_all((int32_t)(flip * (n == 3 ? 0x010101U : 0x01010101U)));
    S piece[NNF_SOFTMAX_NARROW / 4], number[NNF_SOFTMAX_NARROW], sum = s32_all(0), most = s32_all(0);
    for (size_t p = 0; p < pieces; p++) {
        piece[p] = s32_xor(turn, n == 3 ? threes(x) : fours(x + (p < n / 4 ? 4 * p : n - 4), n));
        most = u8_max(most, piece[p]);
    }
    most = most_of_bytes(most);
    for (size_t p = 0; p < pieces; p++) {
        const S differences = u8_sub(most, piece[p]);
        const size_t known = p < n / 4 || n == 3 ? 0 : 4 - over; /* columns of the piece before */
        NNF_UNROLL
        for (size_t i = 0; i < 4; i++) {
            if (i < known || (n == 3 && i == 3))
                continue;
            number[4 * p + i - known] = looked_up(power, s32_down(s32_up(differences, (int)(24 - 8 * i)), 24));
            sum = s32_add(sum, s32_down(s32_add(number[4 * p + i - known], s32_all(1 << 11)), 12));
        }
    }
    S shift;
    const S scale = reciprocal_of_sums(sum, &shift);
    const S half = s32_up_each(s32_all(1), s32_sub(shift, s32_all(1)));
    S last = s32_all(0);
    for (size_t p = 0; p < pieces; p++) {
        const size_t known = p < n / 4 || n == 3 ? 0 : 4 - over;
        S word = known ? s32_down(last, (int)(8 * over)) : turn;
        NNF_UNROLL
        for (size_t i = 0; i < 4; i++) {
            if (i < known || (n == 3 && i == 3))
                continue;
            const S part = s32_down_each(s32_add(product_f0(number[4 * p + i - known], scale), half), shift);
            const S code = s32_min(part, s32_all(255));
            word = s32_xor(word, s32_up(known ? s32_xor(code, s32_all(flip)) : code, (int)(8 * i)));
        }
        if (n == 3)
            put_threes(y, word);
        else
            put_fours(y + (p < n / 4 ? 4 * p : n - 4), n, word);
        last = word;
    }
}

/* The rows behind the last whole LANES of them go through `rest`. */
INLINE void blocks_of_codes(uint8_t flip, size_t rows, size_t n, const uint8_t *x, uint8_t *y, const int32_t *power)
{
    size_t row = 0;
    for (; row + LANES <= rows; row += LANES)
        codes_of_rows(flip, n, x + row * n, y + row * n, power);
    if (row < rows) {
        uint8_t rest[LANES * NNF_SOFTMAX_NARROW] = {0};
        memcpy(rest, x + row * n, (rows - row) * n);
        codes_of_rows(flip, n, rest, rest, power);
        memcpy(y + row * n, rest, (rows - row) * n);
    }
}

/* With n constant where the columns of rows fit the registers. */
INLINE void softmax_narrow_codes(uint8_t flip, size_t rows, size_t n, const uint8_t *x, uint8_t *y, const int32_t *power)
{
    switch (n) {
    case 3: blocks_of_codes(flip, rows, 3, x, y, power); return;
    case 4: blocks_of_codes(flip, rows, 4, x, y, power); return;
    case 5: blocks_of_codes(flip, rows, 5, x, y, power); return;
    case 6: blocks_of_codes(flip, rows, 6, x, y, power); return;
    case 7: blocks_of_codes(flip, rows, 7, x, y, power); return;
    case 8: blocks_of_codes(flip, rows, 8, x, y, power); return;
    default: blocks_of_codes(flip, rows, n, x, y, power); return;
    }
}

void KERNEL(nnf_softmax_narrow_qu8_rows)(size_t rows, size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    softmax_narrow_codes(0, rows, n, x, y, power);
}

void KERNEL(nnf_softmax_narrow_qs8_rows)(size_t rows, size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    softmax_narrow_codes(128, rows, n, x, y, power);
}

#endif
