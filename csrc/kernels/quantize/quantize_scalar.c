#include "quantize.h"
#include "quantize_row.h"

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

void nnf_requantize_s32_qu8_rows__scalar(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                         const double *scale, const nnf_codes *codes, uint8_t *y, size_t ldy)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++)
            y[i * ldy + j] = nnf_code_of_sum(x[i * ldx + j], scale[j], codes);
    }
}

void nnf_range_f32_flat__scalar(size_t n, const float *x, float range[2])
{
    range[0] = range[1] = 0;
    for (size_t i = 0; i < n; i++) {
        range[0] = x[i] < range[0] ? x[i] : range[0];
        range[1] = x[i] > range[1] ? x[i] : range[1];
    }
}

void nnf_quantize_range_f32_qu8_flat__scalar(size_t n, const float *x, uint8_t *y, int is_asymmetric,
                                             const float range[2], nnf_row_codes *row)
{
    const nnf_row_scale scale = nnf_row_scale_of(range[0], range[1], is_asymmetric, row);
    for (size_t i = 0; i < n; i++)
        y[i] = nnf_row_code(x[i], &scale);
}

void nnf_quantize_row_f32_qu8_flat__scalar(size_t n, const float *x, uint8_t *y, int is_asymmetric, nnf_row_codes *row)
{
    float range[2];
    nnf_range_f32_flat__scalar(n, x, range);
    nnf_quantize_range_f32_qu8_flat__scalar(n, x, y, is_asymmetric, range, row);
}

void nnf_scale_f32_rows__scalar(size_t rows, size_t columns, const float *x, float step, const float *scale,
                                const float *bias, float lo, float hi, float *y)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const float value = x[i * columns + j] * (step * scale[j]) + bias[j];
            y[i * columns + j] = value < lo ? lo : value > hi ? hi : value;
        }
    }
}

void nnf_dequantize_s32_f32_rows__scalar(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                         const nnf_row_codes *row, size_t next, const nnf_sum_scales *by, float *y,
                                         size_t ldy)
{
    for (size_t i = 0; i < rows; i++, row += next) {
        for (size_t j = 0; j < columns; j++)
            y[i * ldy + j] = nnf_sum_value(x[i * ldx + j], row, by, j);
    }
}
