#include "depthwise_conv2d.h"

#include "nnf/simd/s32_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "depthwise_conv2d/depthwise_conv2d_q16_simd.h"
