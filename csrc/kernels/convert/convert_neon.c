#include "convert.h"

#include <arm_neon.h>
#include <string.h>

void nnf_convert_f16_f32_flat__neon_4(size_t n, const uint16_t *x, float *y)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
    if (i < n) {
        uint16_t rest[4] = {0};
        float wide[4];
        memcpy(rest, x + i, 2 * (n - i));
        vst1q_f32(wide, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(rest))));
        memcpy(y + i, wide, 4 * (n - i));
    }
}

void nnf_convert_f32_f16_flat__neon_4(size_t n, const float *x, uint16_t *y)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
    if (i < n) {
        float rest[4] = {0};
        uint16_t half[4];
        memcpy(rest, x + i, 4 * (n - i));
        vst1_u16(half, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(rest))));
        memcpy(y + i, half, 2 * (n - i));
    }
}
