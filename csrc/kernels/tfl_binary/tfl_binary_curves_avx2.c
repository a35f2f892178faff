#include "nnf/simd/f64_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "tfl_binary/tfl_binary_curves_simd.h"
