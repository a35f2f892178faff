#include <arm_neon.h>

#include "reverse_each.h"

static inline uint8x16_t turned(const size_t item, const uint8_t *x)
{
    const uint8x16_t v = vld1q_u8(x);
    const uint8x16_t halves = item == 1   ? vrev64q_u8(v)
                              : item == 2 ? vreinterpretq_u8_u16(vrev64q_u16(vreinterpretq_u16_u8(v)))
                              : item == 4 ? vreinterpretq_u8_u32(vrev64q_u32(vreinterpretq_u32_u8(v)))
                                          : v;
    return vextq_u8(halves, halves, 8);
}

static inline void reverse_rows(const size_t item, size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    const size_t row = n * item;
    for (size_t r = 0; r < rows; r++, x += from, y += row) {
        if (row < 16) {
            nnf_reverse_each(item, n, x, y);
            continue;
        }
        for (size_t at = 0; at < row; at += 16) { /* the last vector again over what is done, if need be */
            const size_t to = at + 16 <= row ? at : row - 16;
            vst1q_u8(y + to, turned(item, x + row - 16 - to));
        }
    }
}

void nnf_reverse_x8_rows__neon_16(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(1, rows, n, x, from, y);
}

void nnf_reverse_x16_rows__neon_8(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(2, rows, n, x, from, y);
}

void nnf_reverse_x32_rows__neon_4(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(4, rows, n, x, from, y);
}

void nnf_reverse_x64_rows__neon_2(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(8, rows, n, x, from, y);
}
