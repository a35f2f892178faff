#include "elementwise.h"

#include <string.h>

#include "nnf/simd/s32_neon.h"
#include "nnf/simd/u8_neon.h"

/* Quotients of two, rounded down: a and b are whole doubles, and one more bit than a quotient of 32-bit numbers needs
 * to be on the right side of a whole number fits into 53 bits. 2^31 wraps. */
static inline int32x2_t quotients(int32x2_t a, int32x2_t b)
{
    const float64x2_t dividend = vcvtq_f64_s64(vmovl_s32(a)), divisor = vcvtq_f64_s64(vmovl_s32(b));
    const int32x2_t ratio = vmovn_s64(vcvtmq_s64_f64(vdivq_f64(dividend, divisor)));
    return vbic_s32(ratio, vreinterpret_s32_u32(vceqz_s32(b)));
}

static inline S s32_div(S a, S b)
{
    return vcombine_s32(quotients(vget_low_s32(a), vget_low_s32(b)), quotients(vget_high_s32(a), vget_high_s32(b)));
}

#define KERNEL(op) op##__neon_4
#define KERNEL_BYTES(op) op##__neon_16

#include "elementwise/elementwise_integer_simd.h"

/* 1 for each lane of BYTES / LANES vectors of which something holds, else 0. */
INLINE B u8_of_lanes(const P *x)
{
    const uint16x8_t low = vcombine_u16(vmovn_u32(x[0]), vmovn_u32(x[1]));
    const uint16x8_t high = vcombine_u16(vmovn_u32(x[2]), vmovn_u32(x[3]));
    return vandq_u8(vcombine_u8(vmovn_u16(low), vmovn_u16(high)), u8_all(1));
}

#include "elementwise/elementwise_relation_simd.h"

/* 16 bytes of items: `second` where the mask of the choice has ones. */
INLINE void choose_items(uint8_t *y, const uint8_t *first, const uint8_t *second, uint8x16_t none)
{
    vst1q_u8(y, vbslq_u8(none, vld1q_u8(second), vld1q_u8(first)));
}

/* Items behind the last whole vector. */
INLINE void choose_rest(size_t item, size_t i, size_t n, const uint8_t *choice, const uint8_t *a, const uint8_t *b,
                        uint8_t *y)
{
    for (; i < n; i++)
        memcpy(y + item * i, (choice[i] ? a : b) + item * i, item);
}

void nnf_select_qu8_flat__neon_16(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint8_t *first = a, *second = b;
    uint8_t *to = y;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        choose_items(to + i, first + i, second + i, vceqzq_u8(vld1q_u8(choice + i)));
    choose_rest(1, i, n, choice, a, b, y);
}

void nnf_select_f16_flat__neon_8(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint8_t *first = a, *second = b;
    uint8_t *to = y;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16x8_t none = vceqzq_u16(vmovl_u8(vld1_u8(choice + i)));
        choose_items(to + 2 * i, first + 2 * i, second + 2 * i, vreinterpretq_u8_u16(none));
    }
    choose_rest(2, i, n, choice, a, b, y);
}

void nnf_select_s32_flat__neon_8(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint8_t *first = a, *second = b;
    uint8_t *to = y;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16x8_t wide = vmovl_u8(vld1_u8(choice + i));
        const uint32x4_t low = vceqzq_u32(vmovl_u16(vget_low_u16(wide))), high = vceqzq_u32(vmovl_high_u16(wide));
        choose_items(to + 4 * i, first + 4 * i, second + 4 * i, vreinterpretq_u8_u32(low));
        choose_items(to + 4 * i + 16, first + 4 * i + 16, second + 4 * i + 16, vreinterpretq_u8_u32(high));
    }
    choose_rest(4, i, n, choice, a, b, y);
}
