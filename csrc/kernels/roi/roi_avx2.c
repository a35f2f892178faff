#include "roi.h"

#include "nnf/simd/codes_avx2.h"
#include "nnf/simd/f32_avx2.h"

#define KERNEL(op) op##__avx2_32

#include "roi/roi_simd.h"
