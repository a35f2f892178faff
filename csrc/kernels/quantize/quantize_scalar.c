#include "quantize.h"

#include "nnf/fixedpoint.h"

void nnf_quantize_f32_qu8_flat__scalar(size_t n, const float *x, uint8_t *y, float scale, int32_t zero, int32_t lo,
                                       int32_t hi)
{
    for (size_t i = 0; i < n; i++) {
        float steps = x[i] / scale;
        steps = steps < NNF_QUANTIZE_FAR ? steps : NNF_QUANTIZE_FAR; /* a NaN too */
        steps = steps > -NNF_QUANTIZE_FAR ? steps : -NNF_QUANTIZE_FAR;
        int32_t whole = (int32_t)steps;
        const float rest = steps - (float)whole; /* exact, where steps + 0.5 would round 0.49999997 up */
        whole += (rest >= 0.5f) - (rest <= -0.5f);
        y[i] = (uint8_t)nnf_clamp_s32(whole + zero, lo, hi);
    }
}

void nnf_dequantize_qu8_f32_flat__scalar(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                         size_t step)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(x[i] - zero) * scale[i * step];
}

void nnf_dequantize_qs8_f32_flat__scalar(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                         size_t step)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((int8_t)x[i] - zero) * scale[i * step];
}
