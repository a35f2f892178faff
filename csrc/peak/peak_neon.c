/* 128-bit vectors. 8-bit products are formed from 16-bit values: exact without the dot product for any codes. */
#include <arm_neon.h>

#include "peak/peak_loop.h"

void nnf_peak_f32__neon(size_t rounds)
{
    float32x4_t x = vdupq_n_f32(0.999f);
    const float32x4_t y = vdupq_n_f32(1e-3f);
#define STEP(a) vfmaq_f32(a, x, y)
    NNF_PEAK_LOOP("w", float32x4_t, y, x, STEP);
#undef STEP
}

void nnf_peak_s8__neon(size_t rounds)
{
    int16x4_t x = vdup_n_s16(3);
    const int16x4_t y = vdup_n_s16(5);
#define STEP(a) vmlal_s16(a, x, y)
    NNF_PEAK_LOOP("w", int32x4_t, vdupq_n_s32(1), x, STEP);
#undef STEP
}
