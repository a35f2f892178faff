#include "pooling.h"

#include "nnf/simd/codes_avx512.h"
#include "nnf/simd/f64_avx512.h"
#include "nnf/simd/s32_avx512.h"
#include "nnf/simd/u8_avx512.h"

#define KERNEL(op) op##__avx512_64
#define KERNEL_DOUBLES(op) op##__avx512_8

#include "pooling/pooling_simd.h"
