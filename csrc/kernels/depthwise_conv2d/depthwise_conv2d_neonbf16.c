#include "depthwise_conv2d.h"

#include <string.h>

#include "nnf/bf16_neon.h"
#include "nnf/partial_neon.h"

typedef uint16_t output;

static inline void write_some(output *y, float32x4_t v, size_t count)
{
    nnf_store_u8_neon((uint8_t *)y, vreinterpret_u8_u16(vget_low_u16(nnf_bf16_of_f32_neon(v, v))), 2 * count);
}

static inline void write_two(output *y, output *z, float32x4_t a, float32x4_t b)
{
    const uint16x8_t rounded = nnf_bf16_of_f32_neon(a, b);
    vst1_u16(y, vget_low_u16(rounded));
    vst1_u16(z, vget_high_u16(rounded));
}

#include "depthwise_conv2d_neon.h"

void nnf_depthwise_conv2d_f32_bf16_nhwc__neonbf16_4x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                      size_t end, const float *x, const float *packed, uint16_t *y,
                                                      size_t pixel, float lo, float hi)
{
    run_rows(g, first, last, begin, end, x, packed, y, pixel, lo, hi);
    if (end < g->channels || end == pixel)
        return;
    for (size_t i = 0; i < (last - first) * g->x.out; i++)
        memset(y + i * pixel + end, 0, (pixel - end) * sizeof *y);
}
