#include "normalization.h"

#include "nnf/simd/f64_avx2.h"

#include "normalization/normalization_simd.h"

void nnf_l2_norm_f32_rows__avx2_8(size_t n, const float *x, float *y)
{
    l2_norm(n, x, y);
}

void nnf_lrn_f32_rows__avx2_4(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    lrn(p, n, x, y, sums);
}

void nnf_instance_norm_f32_nhwc__avx2_8(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    instance_norm_nhwc(p, n, x, y);
}

void nnf_instance_norm_f32_nchw__avx2_8(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    instance_norm_nchw(p, x, y);
}
