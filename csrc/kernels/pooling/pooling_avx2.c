#include "pooling.h"

#include "nnf/simd/codes_avx2.h"
#include "nnf/simd/f64_avx2.h"
#include "nnf/simd/s32_avx2.h"
#include "nnf/simd/u8_avx2.h"

#define KERNEL(op) op##__avx2_32
#define KERNEL_DOUBLES(op) op##__avx2_4

#include "pooling/pooling_simd.h"
