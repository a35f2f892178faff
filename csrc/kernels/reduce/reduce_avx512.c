#include "reduce.h"

#include "nnf/simd/codes_f64_avx512.h"
#include "nnf/simd/u8_avx512.h"

#define KERNEL(op) op##__avx512_16
#define KERNEL_BYTES(op) op##__avx512_64

#include "reduce/reduce_simd.h"
