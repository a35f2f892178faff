#include <arm_neon.h>

#include "transpose_blocks.h"

/* Values go through memory as vectors of bytes: neither side need be aligned. */
static inline uint16x8_t load_x16(const uint8_t *x) { return vreinterpretq_u16_u8(vld1q_u8(x)); }
static inline uint32x4_t load_x32(const uint8_t *x) { return vreinterpretq_u32_u8(vld1q_u8(x)); }
static inline uint64x2_t load_x64(const uint8_t *x) { return vreinterpretq_u64_u8(vld1q_u8(x)); }
static inline void store_x32(uint8_t *y, uint32x4_t value) { vst1q_u8(y, vreinterpretq_u8_u32(value)); }
static inline void store_x64(uint8_t *y, uint64x2_t value) { vst1q_u8(y, vreinterpretq_u8_u64(value)); }

INLINE void block_x8(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    uint16x4x2_t pairs[4]; /* val[0]: even rows, val[1]: odd rows of columns 2k and 2k + 1 */
    for (size_t k = 0; k < 4; k++) {
        const uint8x8x2_t two = vtrn_u8(vld1_u8(x + 2 * k * from), vld1_u8(x + (2 * k + 1) * from));
        pairs[k] = (uint16x4x2_t){{vreinterpret_u16_u8(two.val[0]), vreinterpret_u16_u8(two.val[1])}};
    }
    for (size_t odd = 0; odd < 2; odd++) {
        const uint16x4x2_t first = vtrn_u16(pairs[0].val[odd], pairs[1].val[odd]);
        const uint16x4x2_t last = vtrn_u16(pairs[2].val[odd], pairs[3].val[odd]);
        for (size_t k = 0; k < 2; k++) {
            const uint32x2x2_t both = vtrn_u32(vreinterpret_u32_u16(first.val[k]), vreinterpret_u32_u16(last.val[k]));
            vst1_u8(y + (2 * k + odd) * to, vreinterpret_u8_u32(both.val[0]));
            vst1_u8(y + (2 * k + odd + 4) * to, vreinterpret_u8_u32(both.val[1]));
        }
    }
}

INLINE void block_x16(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    uint32x4x2_t pairs[4];
    for (size_t k = 0; k < 4; k++) {
        const uint16x8x2_t two = vtrnq_u16(load_x16(x + 2 * k * from), load_x16(x + (2 * k + 1) * from));
        pairs[k] = (uint32x4x2_t){{vreinterpretq_u32_u16(two.val[0]), vreinterpretq_u32_u16(two.val[1])}};
    }
    for (size_t odd = 0; odd < 2; odd++) {
        const uint32x4x2_t first = vtrnq_u32(pairs[0].val[odd], pairs[1].val[odd]);
        const uint32x4x2_t last = vtrnq_u32(pairs[2].val[odd], pairs[3].val[odd]);
        for (size_t k = 0; k < 2; k++) {
            const uint64x2_t a = vreinterpretq_u64_u32(first.val[k]), b = vreinterpretq_u64_u32(last.val[k]);
            store_x64(y + (2 * k + odd) * to, vtrn1q_u64(a, b));
            store_x64(y + (2 * k + odd + 4) * to, vtrn2q_u64(a, b));
        }
    }
}

INLINE void block_x32(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const uint32x4x2_t first = vtrnq_u32(load_x32(x), load_x32(x + from));
    const uint32x4x2_t last = vtrnq_u32(load_x32(x + 2 * from), load_x32(x + 3 * from));
    for (size_t odd = 0; odd < 2; odd++) {
        const uint64x2_t a = vreinterpretq_u64_u32(first.val[odd]), b = vreinterpretq_u64_u32(last.val[odd]);
        store_x32(y + odd * to, vreinterpretq_u32_u64(vtrn1q_u64(a, b)));
        store_x32(y + (odd + 2) * to, vreinterpretq_u32_u64(vtrn2q_u64(a, b)));
    }
}

INLINE void block_x64(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const uint64x2_t a = load_x64(x), b = load_x64(x + from);
    store_x64(y, vtrn1q_u64(a, b));
    store_x64(y + to, vtrn2q_u64(a, b));
}

void nnf_transpose_x8_tile__neon_8x8(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const size_t c = nnf_transpose_by(block_x8, 8, 8, 1, rows, columns, x, from, y, to);
    nnf_transpose_each(1, rows, columns - c, x + c * from, from, y + c, to);
}

void nnf_transpose_x16_tile__neon_8x8(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const size_t c = nnf_transpose_by(block_x16, 8, 8, 2, rows, columns, x, from, y, to);
    nnf_transpose_each(2, rows, columns - c, x + c * from, from, y + c * 2, to);
}

void nnf_transpose_x32_tile__neon_4x4(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const size_t c = nnf_transpose_by(block_x32, 4, 4, 4, rows, columns, x, from, y, to);
    nnf_transpose_each(4, rows, columns - c, x + c * from, from, y + c * 4, to);
}

void nnf_transpose_x64_tile__neon_2x2(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const size_t c = nnf_transpose_by(block_x64, 2, 2, 8, rows, columns, x, from, y, to);
    nnf_transpose_each(8, rows, columns - c, x + c * from, from, y + c * 8, to);
}
