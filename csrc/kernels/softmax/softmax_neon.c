#include "softmax.h"

#include "nnf/math_neon.h"
#include "nnf/simd/f64_neon.h"

static inline V exponential(V x)
{
    return nnf_exp_neg_neon(x);
}

#define KERNEL_PAIRS(op) op##__neon_4
#define KERNEL(op) op##__neon_4

#include "softmax/softmax_simd.h"
