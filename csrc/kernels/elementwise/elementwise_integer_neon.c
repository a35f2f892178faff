#include "elementwise.h"

#include <string.h>

#include "nnf/partial_neon.h"

#define INLINE static inline __attribute__((always_inline))

enum word_op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN };

enum byte_op {
    OP_LARGER,
    OP_SMALLER,
    OP_LARGER_SIGNED,
    OP_SMALLER_SIGNED,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_AND,
    OP_OR
};

/* Quotients of two, rounded down: a and b are whole doubles, and one more bit than a quotient of 32-bit numbers needs
 * to be on the right side of a whole number fits into 53 bits. 2^31 wraps. */
INLINE int32x2_t quotients(int32x2_t a, int32x2_t b)
{
    const float64x2_t dividend = vcvtq_f64_s64(vmovl_s32(a)), divisor = vcvtq_f64_s64(vmovl_s32(b));
    const int32x2_t ratio = vmovn_s64(vcvtmq_s64_f64(vdivq_f64(dividend, divisor)));
    return vbic_s32(ratio, vreinterpret_s32_u32(vceqz_s32(b)));
}

INLINE int32x4_t word(enum word_op op, int32x4_t a, int32x4_t b)
{
    switch (op) {
    case OP_ADD:
        return vaddq_s32(a, b);
    case OP_SUB:
        return vsubq_s32(a, b);
    case OP_MUL:
        return vmulq_s32(a, b);
    case OP_DIV:
        return vcombine_s32(quotients(vget_low_s32(a), vget_low_s32(b)),
                            quotients(vget_high_s32(a), vget_high_s32(b)));
    case OP_MAX:
        return vmaxq_s32(a, b);
    default:
        return vminq_s32(a, b);
    }
}

INLINE void words(enum word_op op, size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                  int32_t *y)
{
    if (n == 0)
        return;
    int32x4_t left = vdupq_n_s32(*a), right = vdupq_n_s32(*b);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        if (step_a)
            left = vld1q_s32(a + i);
        if (step_b)
            right = vld1q_s32(b + i);
        vst1q_s32(y + i, word(op, left, right));
    }
    for (; i < n; i++) {
        if (step_a)
            left = vdupq_n_s32(a[i]);
        if (step_b)
            right = vdupq_n_s32(b[i]);
        vst1q_lane_s32(y + i, word(op, left, right), 0);
    }
}

INLINE uint8x16_t byte(enum byte_op op, uint8x16_t a, uint8x16_t b)
{
    const uint8x16_t one = vdupq_n_u8(1);
    const int8x16_t signed_a = vreinterpretq_s8_u8(a), signed_b = vreinterpretq_s8_u8(b);
    switch (op) {
    case OP_LARGER:
        return vmaxq_u8(a, b);
    case OP_SMALLER:
        return vminq_u8(a, b);
    case OP_LARGER_SIGNED:
        return vreinterpretq_u8_s8(vmaxq_s8(signed_a, signed_b));
    case OP_SMALLER_SIGNED:
        return vreinterpretq_u8_s8(vminq_s8(signed_a, signed_b));
    case OP_EQUAL:
        return vandq_u8(vceqq_u8(a, b), one);
    case OP_NOT_EQUAL:
        return vbicq_u8(one, vceqq_u8(a, b));
    case OP_LESS:
        return vandq_u8(vcltq_u8(a, b), one);
    case OP_LESS_EQUAL:
        return vandq_u8(vcleq_u8(a, b), one);
    case OP_AND:
        return vminq_u8(vminq_u8(a, b), one);
    default:
        return vminq_u8(vorrq_u8(a, b), one);
    }
}

INLINE void bytes(enum byte_op op, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                  uint8_t *y)
{
    if (n == 0)
        return;
    uint8x16_t left = vdupq_n_u8(*a), right = vdupq_n_u8(*b);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        if (step_a)
            left = vld1q_u8(a + i);
        if (step_b)
            right = vld1q_u8(b + i);
        vst1q_u8(y + i, byte(op, left, right));
    }
    for (; i < n; i += 8) {
        const uint8x8_t none = vdup_n_u8(0);
        if (step_a)
            left = vcombine_u8(nnf_load_u8_neon(a + i, n - i), none);
        if (step_b)
            right = vcombine_u8(nnf_load_u8_neon(b + i, n - i), none);
        nnf_store_u8_neon(y + i, vget_low_u8(byte(op, left, right)), n - i);
    }
}

void nnf_add_s32_flat__neon_4(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_ADD, n, a, step_a, b, step_b, y);
}

void nnf_sub_s32_flat__neon_4(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_SUB, n, a, step_a, b, step_b, y);
}

void nnf_mul_s32_flat__neon_4(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MUL, n, a, step_a, b, step_b, y);
}

void nnf_div_s32_flat__neon_4(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_DIV, n, a, step_a, b, step_b, y);
}

void nnf_max_s32_flat__neon_4(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MAX, n, a, step_a, b, step_b, y);
}

void nnf_min_s32_flat__neon_4(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MIN, n, a, step_a, b, step_b, y);
}

void nnf_max_qu8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LARGER, n, a, step_a, b, step_b, y);
}

void nnf_min_qu8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_SMALLER, n, a, step_a, b, step_b, y);
}

void nnf_max_qs8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LARGER_SIGNED, n, a, step_a, b, step_b, y);
}

void nnf_min_qs8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_SMALLER_SIGNED, n, a, step_a, b, step_b, y);
}

void nnf_equal_b8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_not_equal_b8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y)
{
    bytes(OP_NOT_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_less_b8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LESS, n, a, step_a, b, step_b, y);
}

void nnf_less_equal_b8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                     uint8_t *y)
{
    bytes(OP_LESS_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_and_b8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_AND, n, a, step_a, b, step_b, y);
}

void nnf_or_b8_flat__neon_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_OR, n, a, step_a, b, step_b, y);
}

/* 16 bytes of items: `second` where the mask of the choice has ones. */
INLINE void choose(uint8_t *y, const uint8_t *first, const uint8_t *second, uint8x16_t none)
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
        choose(to + i, first + i, second + i, vceqzq_u8(vld1q_u8(choice + i)));
    choose_rest(1, i, n, choice, a, b, y);
}

void nnf_select_f16_flat__neon_8(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint8_t *first = a, *second = b;
    uint8_t *to = y;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16x8_t none = vceqzq_u16(vmovl_u8(vld1_u8(choice + i)));
        choose(to + 2 * i, first + 2 * i, second + 2 * i, vreinterpretq_u8_u16(none));
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
        choose(to + 4 * i, first + 4 * i, second + 4 * i, vreinterpretq_u8_u32(low));
        choose(to + 4 * i + 16, first + 4 * i + 16, second + 4 * i + 16, vreinterpretq_u8_u32(high));
    }
    choose_rest(4, i, n, choice, a, b, y);
}
