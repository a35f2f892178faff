#include "arg.h"

#include <string.h>

#include "nnf/partial_neon.h"

#define INLINE static inline __attribute__((always_inline))

enum kind { F32, S32, QU8 };

static const uint32_t lane_numbers[4] = {0, 1, 2, 3};

/* Ones in the first `count` lanes. */
INLINE uint32x4_t first(size_t count)
{
    return vcltq_u32(vld1q_u32(lane_numbers), vdupq_n_u32(count < 4 ? (uint32_t)count : 4));
}

/* `count`, at most 4, words of either kind. */
INLINE uint32x4_t words(const void *x, size_t count)
{
    uint8_t copy[16] = {0};
    if (count < 4)
        x = memcpy(copy, x, 4 * count);
    return vreinterpretq_u32_u8(vld1q_u8(x));
}

/* The first `count`, at most 4, values as integers of the same order, the two zeros alike; a NaN and what is not asked
 * for come below all others. */
INLINE int32x4_t keys(const enum kind kind, const void *x, size_t at, size_t count, uint32x4_t flip)
{
    uint32x4_t bits, mask = first(count);
    int32x4_t key;
    if (kind == QU8) {
        const uint8x8_t codes = nnf_load_u8_neon((const uint8_t *)x + at, count < 4 ? count : 4);
        bits = vmovl_u16(vget_low_u16(vmovl_u8(codes)));
    } else {
        bits = words((const uint8_t *)x + 4 * at, count);
    }
    bits = veorq_u32(bits, flip);
    key = vreinterpretq_s32_u32(bits);
    if (kind == F32) {
        const float32x4_t value = vaddq_f32(vreinterpretq_f32_u32(bits), vdupq_n_f32(0));
        const int32x4_t raw = vreinterpretq_s32_f32(value);
        key = veorq_s32(raw, vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(vshrq_n_s32(raw, 31)), 1)));
        mask = vandq_u32(mask, vceqq_f32(value, value));
    }
    return vbslq_s32(mask, key, vdupq_n_s32(INT32_MIN));
}

INLINE void rows(const enum kind kind, size_t count, const void *x, int32_t *y, uint32_t flip)
{
    const uint32x4_t turn = vdupq_n_u32(flip);
    *y = 0;
    if (kind == F32 && *(const float *)x != *(const float *)x)
        return;
    int32x4_t best = keys(kind, x, 0, count, turn);
    for (size_t i = 4; i < count; i += 4)
        best = vmaxq_s32(best, keys(kind, x, i, count - i, turn));
    best = vdupq_n_s32(vmaxvq_s32(best));
    for (size_t i = 0; i < count; i += 4) {
        const uint32x4_t same = vandq_u32(vceqq_s32(keys(kind, x, i, count - i, turn), best), first(count - i));
        const uint32_t lane = vminvq_u32(vbslq_u32(same, vld1q_u32(lane_numbers), vdupq_n_u32(4)));
        if (lane < 4) {
            *y = (int32_t)(i + lane);
            return;
        }
    }
}

INLINE void across(const enum kind kind, size_t count, size_t stride, size_t n, const void *x, int32_t *y,
                   uint32_t flip)
{
    const uint32x4_t turn = vdupq_n_u32(flip);
    for (size_t i = 0; i < n; i += 4) {
        int32x4_t best = keys(kind, x, i, n - i, turn), place = vdupq_n_s32(0);
        if (kind == F32) { /* nothing beats a NaN that stands first */
            const float32x4_t value = vreinterpretq_f32_u32(words((const uint8_t *)x + 4 * i, n - i));
            best = vbslq_s32(vceqq_f32(value, value), best, vdupq_n_s32(INT32_MAX));
        }
        for (size_t a = 1; a < count; a++) {
            const int32x4_t key = keys(kind, x, a * stride + i, n - i, turn);
            place = vbslq_s32(vcgtq_s32(key, best), vdupq_n_s32((int32_t)a), place);
            best = vmaxq_s32(best, key);
        }
        int32_t places[4];
        vst1q_s32(places, place);
        memcpy(y + i, places, 4 * (n - i < 4 ? n - i : 4));
    }
}

void nnf_arg_f32_rows__neon_4(size_t count, const float *x, int32_t *y, uint32_t flip)
{
    rows(F32, count, x, y, flip);
}

void nnf_arg_s32_rows__neon_4(size_t count, const int32_t *x, int32_t *y, uint32_t flip)
{
    rows(S32, count, x, y, flip);
}

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

void nnf_arg_across_f32_rows__neon_4(size_t count, size_t stride, size_t n, const float *x, int32_t *y, uint32_t flip)
{
    across(F32, count, stride, n, x, y, flip);
}

void nnf_arg_across_s32_rows__neon_4(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y, uint32_t flip)
{
    across(S32, count, stride, n, x, y, flip);
}

void nnf_arg_across_qu8_rows__neon_4(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y,
                                     uint32_t flip)
{
    across(QU8, count, stride, n, x, y, flip);
}
