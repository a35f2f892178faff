#include "resize.h"

#include "nnf/simd/codes_avx2.h"

#define KERNEL(op) op##__avx2_8
#define KERNEL_CODES(op) op##__avx2_8

#include "resize/resize_simd.h"
