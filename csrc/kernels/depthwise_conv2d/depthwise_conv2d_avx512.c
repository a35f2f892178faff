#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

typedef float output;

static inline void write_block(output *y, __m512 v, __mmask16 lanes, bool full)
{
    if (full)
        _mm512_storeu_ps(y, v);
    else
        _mm512_mask_storeu_ps(y, lanes, v);
}

#include "depthwise_conv2d_avx512.h"

void nnf_depthwise_conv2d_f32_nhwc__avx512_4x16(const nnf_depthwise *g, size_t first, size_t last, size_t begin,
                                                size_t end, const float *x, const float *packed, float *y, float lo,
                                                float hi)
{
    run_rows(g, first, last, begin, end, x, packed, y, g->channels, lo, hi);
}
