/* Matrix products of two rows by two columns, four bfloat16 each. */
#include <arm_neon.h>

#include "peak/peak_loop.h"

void nnf_peak_bf16__neonbf16(size_t rounds)
{
    uint16x8_t x = vdupq_n_u16(0x3f7f); /* 0.996 and 0.001 in bfloat16 */
    const uint16x8_t y = vdupq_n_u16(0x3a83);
#define STEP(a) vbfmmlaq_f32(a, vreinterpretq_bf16_u16(x), vreinterpretq_bf16_u16(y))
    NNF_PEAK_LOOP("w", float32x4_t, vdupq_n_f32(0), x, STEP);
#undef STEP
}
