#include "depthwise_conv2d.h"

#include "nnf/partial_neon.h"

typedef float output;

static inline void write_some(output *y, float32x4_t v, size_t count)
{
    nnf_store_f32_neon(y, v, count);
}

static inline void write_two(output *y, output *z, float32x4_t a, float32x4_t b)
{
    vst1q_f32(y, a);
    vst1q_f32(z, b);
}

#include "depthwise_conv2d_neon.h"

void nnf_depthwise_conv2d_f32_nhwc__neon_4x8(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                             size_t end, const float *x, const float *packed, float *y, float lo,
                                             float hi)
{
    run_rows(g, first, last, begin, end, x, packed, y, g->channels, lo, hi);
}
