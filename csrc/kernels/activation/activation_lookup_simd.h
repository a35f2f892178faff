/* Bytes of a table. Include after nnf/simd/u8_<isa>.h and KERNEL_BYTES. */
#ifndef NNF_ACTIVATION_LOOKUP_SIMD_H
#define NNF_ACTIVATION_LOOKUP_SIMD_H

#include "activation/activation.h"

void KERNEL_BYTES(nnf_lookup_qu8_flat)(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    B rows[TABLE_ROWS];
    u8_rows(rows, table);
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        u8_store_whole(y + i, u8_at(rows, u8_load_whole(x + i)));
    if (i < n)
        u8_store(y + i, n - i, u8_at(rows, u8_load(n - i, x + i)));
}

#endif
