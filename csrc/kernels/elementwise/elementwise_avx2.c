#include "elementwise.h"

#include "nnf/simd/codes_avx2.h"
#include "nnf/simd/u8_avx2.h"

#define KERNEL(op) op##__avx2_8
#define KERNEL_CODES(op) op##__avx2_8

#include "elementwise/elementwise_f32_simd.h"
#include "elementwise/elementwise_q8_simd.h"
#include "elementwise/elementwise_quick_simd.h"
#include "elementwise/elementwise_add_simd.h"
