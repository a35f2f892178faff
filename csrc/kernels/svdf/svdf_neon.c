#include "svdf.h"

#include "nnf/simd/f32_neon.h"
#include "svdf/svdf_rows_simd.h"

void nnf_svdf_f32_rows__neon_4(const nnf_svdf_row *row)
{
    svdf_row(row);
}
