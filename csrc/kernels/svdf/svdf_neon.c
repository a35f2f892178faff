#include "svdf.h"

#include "nnf/simd/f32_neon.h"
#define KERNEL(op) op##__neon_4

#include "svdf/svdf_rows_simd.h"
