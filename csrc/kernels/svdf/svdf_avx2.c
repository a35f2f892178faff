#include "svdf.h"

#include "nnf/simd/f32_avx2.h"
#define KERNEL(op) op##__avx2_8

#include "svdf/svdf_rows_simd.h"
