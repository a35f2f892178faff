#include "normalization.h"

#include "nnf/simd/f64_neon.h"

#define KERNEL(op) op##__neon_4
#define KERNEL_DOUBLES(op) op##__neon_4

#include "normalization/layer_norm_simd.h"
#include "normalization/normalization_simd.h"
