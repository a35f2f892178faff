#include "activation.h"

#include "nnf/simd/f64_avx512.h"
#include "nnf/simd/u8_avx512.h"

#define KERNEL(op) op##__avx512_16
#define KERNEL_BYTES(op) op##__avx512_64

#include "activation/activation_lookup_simd.h"
#include "activation/activation_simd.h"
