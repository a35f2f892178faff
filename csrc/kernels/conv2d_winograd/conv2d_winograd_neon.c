#include "conv2d_winograd.h"

#include "nnf/simd/f32_neon.h"

#define KERNEL(op) op##__neon_4

#include "conv2d_winograd/conv2d_winograd_simd.h"
