#include "narrow_avx2.h"
#include "transpose_blocks.h"

#define INTERLEAVE(op, how, item)                                                                                      \
    void op##__##how(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y)                                      \
    {                                                                                                                  \
        if (n * item >= 16)                                                                                            \
            beside_any(item, n, parts, x, y);                                                                          \
        else                                                                                                           \
            nnf_interleave_each(item, parts, n, x, y);                                                                 \
    }

INTERLEAVE(nnf_interleave_x8_flat, avx2_16, 1)
INTERLEAVE(nnf_interleave_x16_flat, avx2_8, 2)
INTERLEAVE(nnf_interleave_x32_flat, avx2_4, 4)
INTERLEAVE(nnf_interleave_x64_flat, avx2_2, 8)

#define DEINTERLEAVE(op, how, item)                                                                                    \
    void op##__##how(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y)                                      \
    {                                                                                                                  \
        const size_t done = apart_any(item, parts, n, x, y);                                                           \
        uint8_t *rest[4];                                                                                              \
        for (size_t k = 0; k < parts; k++)                                                                             \
            rest[k] = y[k] + done * item;                                                                              \
        nnf_deinterleave_each(item, parts, n - done, x + done * parts * item, rest);                                   \
    }

DEINTERLEAVE(nnf_deinterleave_x8_flat, avx2_16, 1)
DEINTERLEAVE(nnf_deinterleave_x16_flat, avx2_8, 2)
DEINTERLEAVE(nnf_deinterleave_x32_flat, avx2_4, 4)
