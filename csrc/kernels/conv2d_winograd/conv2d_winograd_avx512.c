#include "conv2d_winograd.h"

#include "nnf/simd/f32_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "conv2d_winograd/conv2d_winograd_simd.h"
