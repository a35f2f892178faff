#include "svdf.h"

#include "nnf/simd/f32_avx2.h"
#include "svdf/svdf_rows_simd.h"

void nnf_svdf_f32_rows__avx2_8(const nnf_svdf_row *row)
{
    svdf_row(row);
}
