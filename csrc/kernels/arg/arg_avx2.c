#include "arg.h"

#include "nnf/simd/s32_avx2.h"

#include "arg/arg_simd.h"

void nnf_arg_f32_rows__avx2_8(size_t count, const float *x, int32_t *y, uint32_t flip)
{
    rows(F32, count, x, y, flip);
}

void nnf_arg_s32_rows__avx2_8(size_t count, const int32_t *x, int32_t *y, uint32_t flip)
{
    rows(S32, count, x, y, flip);
}

void nnf_arg_qu8_rows__avx2_8(size_t count, const uint8_t *x, int32_t *y, uint32_t flip)
{
    rows(QU8, count, x, y, flip);
}

void nnf_arg_across_f32_rows__avx2_8(size_t count, size_t stride, size_t n, const float *x, int32_t *y,
                                     uint32_t flip)
{
    across(F32, count, stride, n, x, y, flip);
}

void nnf_arg_across_s32_rows__avx2_8(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y,
                                     uint32_t flip)
{
    across(S32, count, stride, n, x, y, flip);
}

void nnf_arg_across_qu8_rows__avx2_8(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y,
                                     uint32_t flip)
{
    across(QU8, count, stride, n, x, y, flip);
}
