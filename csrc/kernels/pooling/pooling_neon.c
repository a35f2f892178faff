#include "pooling.h"

#include "nnf/simd/codes_neon.h"
#include "nnf/simd/f64_neon.h"
#include "nnf/simd/s32_neon.h"
#include "nnf/simd/u8_neon.h"

#include "pooling/pooling_simd.h"

void nnf_average_pool2d_f32_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, true);
}

void nnf_average_pool2d_qu8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, false);
}

void nnf_average_pool2d_qs8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, true);
}

void nnf_max_pool2d_f32_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, false);
}

void nnf_max_pool2d_qu8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, false);
}

void nnf_max_pool2d_qs8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, true);
}

void nnf_l2_pool2d_f32_nhwc__neon_4(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                    const float *x, float *y, float lo, float hi)
{
    l2_pool(g, first, last, begin, end, x, y, lo, hi);
}
