#include "resize.h"

#include "nnf/simd/codes_neon.h"

#include "resize/resize_simd.h"

void nnf_resize_bilinear_f32_nhwc__neon_4(const nnf_resize *p, const float *top, const float *bottom, float down,
                                          float *y)
{
    resize_f32(p, top, bottom, down, y);
}

void nnf_resize_bilinear_qu8_nhwc__neon_8(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, uint8_t *y)
{
    resize_q8(false, p, top, bottom, down, y);
}

void nnf_resize_bilinear_qs8_nhwc__neon_8(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, uint8_t *y)
{
    resize_q8(true, p, top, bottom, down, y);
}
