#include "elementwise.h"

#include "nnf/simd/codes_avx512.h"
#include "nnf/simd/u8_avx512.h"

#define KERNEL(op) op##__avx512_16
#define KERNEL_CODES(op) op##__avx512_16

#include "elementwise/elementwise_f32_simd.h"
#include "elementwise/elementwise_q8_simd.h"
#include "elementwise/elementwise_quick_simd.h"
#include "elementwise/elementwise_add_simd.h"
