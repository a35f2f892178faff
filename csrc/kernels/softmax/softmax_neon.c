#include "softmax.h"

#include "nnf/math_neon.h"
#include "nnf/simd/f64_neon.h"

static inline V exponential(V x)
{
    return nnf_exp_neg_neon(x);
}

#include "softmax/softmax_simd.h"

void nnf_softmax_f32_rows__neon_4(size_t n, const float *x, float *y, float beta)
{
    softmax(n, x, y, beta);
}

void nnf_log_softmax_f32_rows__neon_4(size_t n, const float *x, float *y, float beta)
{
    log_softmax(n, x, y, beta);
}
