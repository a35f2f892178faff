#include "nnf/simd/f32_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "tfl_pool/tfl_pool_simd.h"
