#include "softmax.h"

#include "nnf/math_avx2.h"
#include "nnf/simd/f64_avx2.h"

static inline V exponential(V x)
{
    return nnf_exp_neg_avx2(x);
}

#define KERNEL_PAIRS(op) op##__avx2_16
#define KERNEL(op) op##__avx2_8

#include "softmax/softmax_simd.h"
