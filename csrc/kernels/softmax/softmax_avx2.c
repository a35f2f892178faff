#include "softmax.h"

#include "nnf/simd/f64_avx2.h"

#define KERNEL_PAIRS(op) op##__avx2_16
#define KERNEL(op) op##__avx2_8

#include "softmax/softmax_simd.h"
