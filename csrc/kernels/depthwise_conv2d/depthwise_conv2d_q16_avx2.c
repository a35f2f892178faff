#include "depthwise_conv2d.h"

#include "nnf/simd/s32_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "depthwise_conv2d/depthwise_conv2d_q16_simd.h"
