#include "depthwise_conv2d.h"

#include "nnf/simd/s32_neon.h"

#define KERNEL(op) op##__neon_4

#include "depthwise_conv2d/depthwise_conv2d_q16_simd.h"
