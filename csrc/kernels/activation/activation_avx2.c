#include "activation.h"

#include "nnf/simd/f64_avx2.h"
#include "nnf/simd/u8_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "activation/activation_simd.h"

void nnf_lookup_qu8_flat__avx2_32(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    B rows[16];
    u8_rows(rows, table);
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        u8_store_whole(y + i, u8_at(rows, u8_load_whole(x + i)));
    for (; i < n; i++)
        y[i] = table[x[i]];
}
