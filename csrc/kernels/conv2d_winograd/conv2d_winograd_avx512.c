#include "conv2d_winograd.h"

#include "nnf/simd/f32_avx512.h"

#include "conv2d_winograd/conv2d_winograd_simd.h"

void nnf_conv2d_winograd_input_f32_nhwc__avx512_16(const nnf_winograd_patch *p, const float *x, float *v)
{
    winograd_input(p, x, v);
}

int nnf_conv2d_winograd_output_f32_nhwc__avx512_16(const nnf_winograd_result *p, const float *m, const float *bias,
                                                   float *y)
{
    return winograd_output(p, m, bias, y);
}
