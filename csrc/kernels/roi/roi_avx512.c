#include "roi.h"

#include "nnf/simd/codes_avx512.h"
#include "nnf/simd/f32_avx512.h"

#define KERNEL(op) op##__avx512_64

#include "roi/roi_simd.h"
