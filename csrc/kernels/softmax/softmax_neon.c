#include "softmax.h"

#include "nnf/simd/f64_neon.h"

#define KERNEL_PAIRS(op) op##__neon_4
#define KERNEL(op) op##__neon_4

#include "softmax/softmax_simd.h"
