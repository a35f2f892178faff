#include "softmax.h"

#include "nnf/math_avx512.h"
#include "nnf/simd/f64_avx512.h"

static inline V exponential(V x)
{
    return nnf_exp_neg_avx512(x);
}

#define KERNEL_PAIRS(op) op##__avx512_32
#define KERNEL(op) op##__avx512_16

#include "softmax/softmax_simd.h"
