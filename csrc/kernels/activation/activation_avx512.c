#include "activation.h"

#include "nnf/simd/f64_avx512.h"
#include "nnf/simd/u8_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "activation/activation_simd.h"

void nnf_lookup_qu8_flat__avx512_64(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    B rows[16];
    u8_rows(rows, table);
    for (size_t i = 0; i < n; i += BYTES)
        u8_store(y + i, n - i, u8_at(rows, u8_load(n - i, x + i)));
}
