#include "activation.h"

#include "nnf/simd/f64_neon.h"

#define KERNEL(op) op##__neon_4

#include "activation/activation_simd.h"

/* The table lies in four groups of registers; a code beyond a group's end leaves what the groups before it gave. */
void nnf_lookup_qu8_flat__neon_16(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    const uint8x16x4_t first = vld1q_u8_x4(table), second = vld1q_u8_x4(table + 64);
    const uint8x16x4_t third = vld1q_u8_x4(table + 128), fourth = vld1q_u8_x4(table + 192);
    const uint8x16_t size = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t codes = vld1q_u8(x + i), found = vqtbl4q_u8(first, codes);
        codes = vsubq_u8(codes, size);
        found = vqtbx4q_u8(found, second, codes);
        codes = vsubq_u8(codes, size);
        found = vqtbx4q_u8(found, third, codes);
        codes = vsubq_u8(codes, size);
        vst1q_u8(y + i, vqtbx4q_u8(found, fourth, codes));
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}
