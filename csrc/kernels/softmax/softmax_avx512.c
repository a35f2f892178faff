#include "softmax.h"

#include "nnf/math_avx512.h"
#include "nnf/simd/f64_avx512.h"

static inline V exponential(V x)
{
    return nnf_exp_neg_avx512(x);
}

#include "softmax/softmax_simd.h"

void nnf_softmax_f32_rows__avx512_32(size_t n, const float *x, float *y, float beta)
{
    softmax(n, x, y, beta);
}

void nnf_log_softmax_f32_rows__avx512_16(size_t n, const float *x, float *y, float beta)
{
    log_softmax(n, x, y, beta);
}
