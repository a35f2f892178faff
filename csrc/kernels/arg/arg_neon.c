#include "arg.h"

#include "nnf/simd/s32_neon.h"

#define KERNEL(op) op##__neon_4

#include "arg/arg_simd.h"

/* Codes stay bytes: flipped, they are compared as unsigned ones. */
void nnf_arg_qu8_rows__neon_16(size_t count, const uint8_t *x, int32_t *y, uint32_t flip)
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
