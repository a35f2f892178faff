#include "normalization.h"

#include "nnf/simd/f64_avx2.h"

#define KERNEL(op) op##__avx2_8
#define KERNEL_DOUBLES(op) op##__avx2_4

#include "normalization/layer_norm_simd.h"
#include "normalization/normalization_simd.h"
