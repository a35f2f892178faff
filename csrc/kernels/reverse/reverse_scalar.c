#include "reverse_each.h"

#define ROWS(op, item)                                                                                                 \
    void op##__scalar(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)                              \
    {                                                                                                                  \
        for (size_t r = 0; r < rows; r++)                                                                              \
            nnf_reverse_each(item, n, x + (ptrdiff_t)r * from, y + r * n * item);                                      \
    }

ROWS(nnf_reverse_x8_rows, 1)
ROWS(nnf_reverse_x16_rows, 2)
ROWS(nnf_reverse_x32_rows, 4)
ROWS(nnf_reverse_x64_rows, 8)
