/* What the kernels of transpose.h share: elements one by one, and the loops around blocks. */
#ifndef NNF_TRANSPOSE_BLOCKS_H
#define NNF_TRANSPOSE_BLOCKS_H

#include <string.h>

#include "nnf/unroll.h"
#include "transpose.h"

/* Elements of `item` bytes, a constant where this is inlined. */
static inline void nnf_transpose_each(size_t item, size_t rows, size_t columns, const uint8_t *x, size_t from,
                                      uint8_t *y, size_t to)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++)
            memcpy(y + r * to + c * item, x + c * from + r * item, item);
    }
}

static inline void nnf_interleave_each(size_t item, size_t parts, size_t n, const uint8_t *const *x, uint8_t *y)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < parts; k++)
            memcpy(y + (i * parts + k) * item, x[k] + i * item, item);
    }
}

static inline void nnf_deinterleave_each(size_t item, size_t parts, size_t n, const uint8_t *x, uint8_t *const *y)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < parts; k++)
            memcpy(y[k] + i * item, x + (i * parts + k) * item, item);
    }
}

typedef void (*nnf_transpose_block_fn)(const uint8_t *x, size_t from, uint8_t *y, size_t to);

/* `rows` x `columns` by blocks of m x n. Of what is left a last block, which begins earlier, does some elements once more;
 * of less than a block, rows go one by one, and columns stay. Returns how many columns are done. */
INLINE size_t nnf_transpose_by(nnf_transpose_block_fn block, size_t m, size_t n, size_t item, size_t rows, size_t columns,
                               const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    nnf_transpose_block_fn last = block;
    __asm__("" : "+r"(last)); /* called: within the loops it would cost their registers */
    size_t c = 0;
    for (; c + n <= columns; c += n) {
        const uint8_t *source = x + c * from;
        uint8_t *target = y + c * item;
        size_t r = 0;
        for (; r + m <= rows; r += m)
            block(source + r * item, from, target + r * to, to);
        if (r < rows && r)
            last(source + (rows - m) * item, from, target + (rows - m) * to, to);
        else if (r < rows)
            nnf_transpose_each(item, rows, n, source, from, target, to);
    }
    if (c == columns || !c)
        return c;
    const uint8_t *source = x + (columns - n) * from;
    uint8_t *target = y + (columns - n) * item;
    for (size_t r = 0; r + m <= rows; r += m)
        last(source + r * item, from, target + r * to, to);
    if (rows % m && rows > m)
        last(source + (rows - m) * item, from, target + (rows - m) * to, to);
    else if (rows % m)
        nnf_transpose_each(item, rows, n, source, from, target, to);
    return columns;
}

#endif
