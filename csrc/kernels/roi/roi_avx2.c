#include "roi.h"

#include "nnf/simd/codes_avx2.h"
#include "nnf/simd/f32_avx2.h"

#include "roi/roi_simd.h"

void nnf_roi_align_f32_nhwc__avx2_32(const nnf_roi *g, const float *w, size_t n, const float *x, float *y)
{
    align_f32(g, w, n, x, y);
}

void nnf_roi_align_qu8_nhwc__avx2_32(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                     const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, false);
}

void nnf_roi_align_qs8_nhwc__avx2_32(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                     const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, true);
}
