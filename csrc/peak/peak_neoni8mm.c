/* Matrix products of two rows by two columns, eight bytes each. */
#include <arm_neon.h>

#include "peak/peak_loop.h"

void nnf_peak_s8__neoni8mm(size_t rounds)
{
    int8x16_t x = vdupq_n_s8(3);
    const int8x16_t y = vdupq_n_s8(5);
#define STEP(a) vmmlaq_s32(a, x, y)
    NNF_PEAK_LOOP("w", int32x4_t, vdupq_n_s32(1), x, STEP);
#undef STEP
}
