#include "reduce.h"

#include "nnf/simd/codes_f64_neon.h"
#include "nnf/simd/u8_neon.h"

#define KERNEL(op) op##__neon_8
#define KERNEL_BYTES(op) op##__neon_16

#include "reduce/reduce_simd.h"
