#include "resize.h"

#include "nnf/simd/codes_neon.h"

#define KERNEL(op) op##__neon_4
#define KERNEL_CODES(op) op##__neon_8

#include "resize/resize_simd.h"
