#include "activation.h"

#include "nnf/simd/f64_avx2.h"
#include "nnf/simd/u8_avx2.h"

#define KERNEL(op) op##__avx2_8
#define KERNEL_BYTES(op) op##__avx2_32

#include "activation/activation_lookup_simd.h"
#include "activation/activation_simd.h"
