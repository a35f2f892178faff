/* What the kernels of reverse.h share: a row element by element. */
#ifndef NNF_REVERSE_EACH_H
#define NNF_REVERSE_EACH_H

#include <string.h>

#include "reverse.h"

/* Elements of `item` bytes, a constant where this is inlined. */
static inline void nnf_reverse_each(const size_t item, size_t n, const uint8_t *x, uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        memcpy(y + i * item, x + (n - 1 - i) * item, item);
}

#endif
