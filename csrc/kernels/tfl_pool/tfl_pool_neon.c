#include "nnf/simd/f32_neon.h"

#define KERNEL(op) op##__neon_4

#include "tfl_pool/tfl_pool_simd.h"
