#include "nnf/simd/f64_neon.h"

#define KERNEL(op) op##__neon_4

#include "tfl_binary/tfl_binary_curves_simd.h"
