#include "activation.h"

#include "nnf/simd/u8_avx512.h"

#define KERNEL_BYTES(op) op##__avx512vbmi_64

#include "activation/activation_lookup_simd.h"
