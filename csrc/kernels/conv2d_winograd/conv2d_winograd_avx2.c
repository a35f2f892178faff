#include "conv2d_winograd.h"

#include "nnf/simd/f32_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "conv2d_winograd/conv2d_winograd_simd.h"
