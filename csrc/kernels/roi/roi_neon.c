#include "roi.h"

#include "nnf/simd/codes_neon.h"
#include "nnf/simd/f32_neon.h"

#define KERNEL(op) op##__neon_16

#include "roi/roi_simd.h"
