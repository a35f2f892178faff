#include "conv2d_narrow.h"

#include "conv2d_narrow_q8_neon.h"
#include "nnf/simd/f32_neon.h"

#define KERNEL_F32(op) op##__neon_4
#define KERNEL_Q8(op) op##__neon_16

enum { CODES = 16, IS_SIGNED = 1 };

static inline S dot(S sum, X x, W w)
{
    sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    return vpadalq_s16(sum, vmull_high_s8(x, w));
}

#include "conv2d_narrow/conv2d_narrow_f32_simd.h"
#include "conv2d_narrow/conv2d_narrow_q8_simd.h"
