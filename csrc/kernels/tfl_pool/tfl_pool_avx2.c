#include "nnf/simd/f32_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "tfl_pool/tfl_pool_simd.h"
