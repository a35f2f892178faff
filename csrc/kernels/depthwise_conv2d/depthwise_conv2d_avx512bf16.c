#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

typedef uint16_t output;

static inline void write_block(output *y, __m512 v, __mmask16 lanes, bool full)
{
    const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(v);
    if (full)
        _mm256_storeu_si256((__m256i *)y, rounded);
    else
        _mm256_mask_storeu_epi16(y, lanes, rounded);
}

#include "depthwise_conv2d_avx512.h"

void nnf_depthwise_conv2d_f32_bf16_nhwc__avx512bf16_4x16(const nnf_depthwise *g, size_t first, size_t last,
                                                         size_t begin, size_t end, const float *x,
                                                         const float *packed, uint16_t *y, size_t pixel, float lo,
                                                         float hi)
{
    run_rows(g, first, last, begin, end, x, packed, y, pixel, lo, hi);
    if (end < g->channels)
        return;
    for (size_t i = 0; i < (last - first) * g->x.out; i++) {
        for (size_t c = end; c < pixel; c += 32) {
            const __mmask32 lanes = pixel - c < 32 ? (UINT32_C(1) << (pixel - c)) - 1 : UINT32_C(0xFFFFFFFF);
            _mm512_mask_storeu_epi16(y + i * pixel + c, lanes, _mm512_setzero_si512());
        }
    }
}
