#include "arg.h"

#include "nnf/simd/s32_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "arg/arg_simd.h"

void nnf_arg_qu8_rows__avx512_16(size_t count, const uint8_t *x, int32_t *y, uint32_t flip)
{
    rows(QU8, count, x, y, flip);
}
