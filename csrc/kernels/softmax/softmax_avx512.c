#include "softmax.h"

#include "nnf/simd/f64_avx512.h"

#define KERNEL_PAIRS(op) op##__avx512_32
#define KERNEL(op) op##__avx512_16

#include "softmax/softmax_simd.h"
