#include "arg.h"

#include "nnf/simd/s32_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "arg/arg_simd.h"

void nnf_arg_qu8_rows__avx2_8(size_t count, const uint8_t *x, int32_t *y, uint32_t flip)
{
    rows(QU8, count, x, y, flip);
}
