#include "resize.h"

#include "nnf/simd/codes_avx512.h"

#define KERNEL(op) op##__avx512_16
#define KERNEL_CODES(op) op##__avx512_16

#include "resize/resize_simd.h"
