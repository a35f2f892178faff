#include "nnf/simd/f32_neon.h"

#include "tfl_pool/tfl_pool_simd.h"

void nnf_max_pool_places_f32_nhwc__neon_4(const nnf_pool *g, size_t row, const float *x, float *y, float *places)
{
    rows_of_places(g, row, x, y, places);
}
