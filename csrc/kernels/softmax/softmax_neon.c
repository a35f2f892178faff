#include "softmax.h"

#include "nnf/simd/f64_neon.h"

#define KERNEL_PAIRS(op) op##__neon_4
#define KERNEL(op) op##__neon_4

#include "softmax/softmax_simd.h"

INLINE void columns_in(size_t width, size_t step, const float *x, V *columns)
{
    if (width == 4) {
        const float32x4x2_t a = vtrnq_f32(vld1q_f32(x), vld1q_f32(x + step));
        const float32x4x2_t b = vtrnq_f32(vld1q_f32(x + 2 * step), vld1q_f32(x + 3 * step));
        NNF_UNROLL
        for (int i = 0; i < 2; i++) {
            columns[i] = vcombine_f32(vget_low_f32(a.val[i]), vget_low_f32(b.val[i]));
            columns[2 + i] = vcombine_f32(vget_high_f32(a.val[i]), vget_high_f32(b.val[i]));
        }
    } else if (width == 3) {
        const float32x4x3_t v = vld3q_f32(x);
        columns[0] = v.val[0], columns[1] = v.val[1], columns[2] = v.val[2];
    } else if (width == 2) {
        const float32x4x2_t v = vld2q_f32(x);
        columns[0] = v.val[0], columns[1] = v.val[1];
    } else
        columns[0] = vld1q_f32(x);
}

INLINE void columns_out(size_t width, size_t step, const V *columns, float *y)
{
    if (width == 4) {
        const float32x4x2_t a = vtrnq_f32(columns[0], columns[1]), b = vtrnq_f32(columns[2], columns[3]);
        NNF_UNROLL
        for (size_t i = 0; i < 2; i++) {
            vst1q_f32(y + i * step, vcombine_f32(vget_low_f32(a.val[i]), vget_low_f32(b.val[i])));
            vst1q_f32(y + (2 + i) * step, vcombine_f32(vget_high_f32(a.val[i]), vget_high_f32(b.val[i])));
        }
    } else if (width == 3)
        vst3q_f32(y, (float32x4x3_t){{columns[0], columns[1], columns[2]}});
    else if (width == 2)
        vst2q_f32(y, (float32x4x2_t){{columns[0], columns[1]}});
    else
        vst1q_f32(y, columns[0]);
}

#include "softmax/softmax_narrow_simd.h"
