#include "nnf/simd/f64_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "tfl_binary/tfl_binary_curves_simd.h"
