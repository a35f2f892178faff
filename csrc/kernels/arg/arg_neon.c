#include "arg.h"

#include "nnf/simd/s32_neon.h"

#define KERNEL(op) op##__neon_4

static inline S fours(const uint8_t *x, size_t bytes)
{
    (void)bytes;
    return vreinterpretq_s32_u8(vld1q_u8(x));
}

static inline S fours_of_bytes(const uint8_t *x, size_t bytes)
{
    (void)bytes;
    return s32_from_u8(4, x);
}

static inline void turn_fours(S value[4])
{
    const S ac = vzip1q_s32(value[0], value[2]), bd = vzip1q_s32(value[1], value[3]);
    const S ac2 = vzip2q_s32(value[0], value[2]), bd2 = vzip2q_s32(value[1], value[3]);
    value[0] = vzip1q_s32(ac, bd);
    value[1] = vzip2q_s32(ac, bd);
    value[2] = vzip1q_s32(ac2, bd2);
    value[3] = vzip2q_s32(ac2, bd2);
}

#include "arg/arg_simd.h"

/* Codes stay bytes: flipped, they are compared as unsigned ones. */
static void row_of_codes(size_t count, const uint8_t *x, int32_t *y, uint32_t flip)
{
    const uint8_t turn = (uint8_t)flip;
    const uint8x16_t turns = vdupq_n_u8(turn);
    uint8x16_t most = vdupq_n_u8(x[0] ^ turn);
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        most = vmaxq_u8(most, veorq_u8(vld1q_u8(x + i), turns));
    uint8_t best = vmaxvq_u8(most);
    for (; i < count; i++)
        best = (x[i] ^ turn) > best ? x[i] ^ turn : best;
    const uint8x16_t wanted = vdupq_n_u8(best ^ turn);
    for (i = 0; i + 16 <= count && vmaxvq_u8(vceqq_u8(vld1q_u8(x + i), wanted)) == 0;)
        i += 16;
    while (x[i] != (best ^ turn))
        i++;
    *y = (int32_t)i;
}

void nnf_arg_qu8_rows__neon_16(size_t count, size_t n, const uint8_t *x, int32_t *y, uint32_t flip)
{
    if (count < 32) {
        rows(QU8, count, n, x, y, flip);
        return;
    }
    for (size_t i = 0; i < n; i++)
        row_of_codes(count, x + i * count, y + i, flip);
}
