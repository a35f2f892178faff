#include "pooling.h"

#include "nnf/simd/codes_neon.h"
#include "nnf/simd/f64_neon.h"
#include "nnf/simd/s32_neon.h"
#include "nnf/simd/u8_neon.h"

#define KERNEL(op) op##__neon_16
#define KERNEL_DOUBLES(op) op##__neon_4

#include "pooling/pooling_simd.h"
