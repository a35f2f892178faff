#include "normalization.h"

#include "nnf/simd/f64_avx512.h"

#define KERNEL(op) op##__avx512_16
#define KERNEL_DOUBLES(op) op##__avx512_8

#include "normalization/layer_norm_simd.h"
#include "normalization/normalization_simd.h"
