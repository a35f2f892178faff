#include <arm_neon.h>

#include "transpose_blocks.h"

/* Whole vectors of each part, then what is left; as: bytes seen as elements, or the other way. */
#define INTERLEAVE(op, how, bits, type, as)                                                                            \
    void op##__##how(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y)                                      \
    {                                                                                                                  \
        const uint8_t *rest[4] = {x[0], x[1], x[parts > 2 ? 2 : 0], x[parts > 3 ? 3 : 0]};                             \
        size_t left = n;                                                                                               \
        for (; left >= 128 / bits; left -= 128 / bits, y += 16 * parts) {                                              \
            type##_t v[4];                                                                                             \
            for (size_t k = 0; k < 4; k++, rest[k - 1] += 16)                                                          \
                v[k] = as(vld1q_u8(rest[k]));                                                                          \
            if (parts == 2)                                                                                            \
                vst2q_u##bits((void *)y, ((type##x2_t){{v[0], v[1]}}));                                                \
            else if (parts == 3)                                                                                       \
                vst3q_u##bits((void *)y, ((type##x3_t){{v[0], v[1], v[2]}}));                                          \
            else                                                                                                       \
                vst4q_u##bits((void *)y, ((type##x4_t){{v[0], v[1], v[2], v[3]}}));                                    \
        }                                                                                                              \
        nnf_interleave_each(bits / 8, parts, left, rest, y);                                                           \
    }

INTERLEAVE(nnf_interleave_x8_flat, neon_16, 8, uint8x16, )
INTERLEAVE(nnf_interleave_x16_flat, neon_8, 16, uint16x8, vreinterpretq_u16_u8)
INTERLEAVE(nnf_interleave_x32_flat, neon_4, 32, uint32x4, vreinterpretq_u32_u8)
INTERLEAVE(nnf_interleave_x64_flat, neon_2, 64, uint64x2, vreinterpretq_u64_u8)

#define DEINTERLEAVE(op, how, bits, type, as)                                                                          \
    void op##__##how(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y)                                      \
    {                                                                                                                  \
        uint8_t *rest[4] = {y[0], y[1], y[parts > 2 ? 2 : 0], y[parts > 3 ? 3 : 0]};                                   \
        size_t left = n;                                                                                               \
        for (; left >= 128 / bits; left -= 128 / bits, x += 16 * parts) {                                              \
            type##x4_t v;                                                                                              \
            if (parts == 2) {                                                                                          \
                const type##x2_t two = vld2q_u##bits((const void *)x);                                                 \
                v = (type##x4_t){{two.val[0], two.val[1], two.val[0], two.val[0]}};                                    \
            } else if (parts == 3) {                                                                                   \
                const type##x3_t three = vld3q_u##bits((const void *)x);                                               \
                v = (type##x4_t){{three.val[0], three.val[1], three.val[2], three.val[0]}};                            \
            } else {                                                                                                   \
                v = vld4q_u##bits((const void *)x);                                                                    \
            }                                                                                                          \
            for (size_t k = 0; k < parts; k++, rest[k - 1] += 16)                                                      \
                vst1q_u8(rest[k], as(v.val[k]));                                                                       \
        }                                                                                                              \
        nnf_deinterleave_each(bits / 8, parts, left, x, rest);                                                         \
    }

DEINTERLEAVE(nnf_deinterleave_x8_flat, neon_16, 8, uint8x16, )
DEINTERLEAVE(nnf_deinterleave_x16_flat, neon_8, 16, uint16x8, vreinterpretq_u8_u16)
DEINTERLEAVE(nnf_deinterleave_x32_flat, neon_4, 32, uint32x4, vreinterpretq_u8_u32)
DEINTERLEAVE(nnf_deinterleave_x64_flat, neon_2, 64, uint64x2, vreinterpretq_u8_u64)
