#include "quantize.h"

#include "nnf/simd/codes_f64_neon.h"
#include "nnf/simd/s32_neon.h"

#define KERNEL(op) op##__neon_8
#define KERNEL_FLOATS(op) op##__neon_4

#include "quantize/quantize_simd.h"
