#include "nnf/simd/f32_avx2.h"

#include "tfl_pool/tfl_pool_simd.h"

void nnf_max_pool_places_f32_nhwc__avx2_8(const nnf_pool *g, size_t row, const float *x, float *y, float *places)
{
    rows_of_places(g, row, x, y, places);
}
