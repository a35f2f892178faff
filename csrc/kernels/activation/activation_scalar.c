#include "activation.h"

#include <math.h>

#include "nnf/fixedpoint.h"
#include "nnf/math_scalar.h"

void nnf_logistic_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = nnf_normal_or_zero(nnf_logistic(x[i]));
}

void nnf_silu_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * nnf_normal_or_zero(nnf_logistic(x[i]));
}

void nnf_tanh_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)nnf_tanh(x[i]);
}

void nnf_hard_swish_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        const float gate = x[i] + 3.0f;
        y[i] = x[i] * ((gate < 0.0f ? 0.0f : gate > 6.0f ? 6.0f : gate) / 6.0f);
    }
}

void nnf_abs_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = fabsf(x[i]);
}

void nnf_neg_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = -x[i];
}

void nnf_floor_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = floorf(x[i]);
}

void nnf_sqrt_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = sqrtf(x[i]);
}

void nnf_rsqrt_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(1.0 / sqrt((double)x[i]));
}

void nnf_exp_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(x[i] > 0 ? 1.0 / nnf_exp_neg(-(double)x[i]) : nnf_exp_neg(x[i]));
}

void nnf_log_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)log((double)x[i]);
}

void nnf_sin_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)sin((double)x[i]);
}

void nnf_cos_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)cos((double)x[i]);
}

void nnf_ceil_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = ceilf(x[i]);
}

void nnf_round_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = rintf(x[i]);
}

void nnf_sign_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? 1.0f : x[i] < 0 ? -1.0f : x[i];
}

/* erfc keeps the digits of 1 + erf below 0. */
void nnf_gelu_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(0.5 * (double)x[i] * erfc((double)x[i] * -0.7071067811865476));
}

/* (1 + tanh(u)) / 2 is the logistic function of 2 u. */
void nnf_gelu_tanh_f32_flat__scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i];
        y[i] = (float)(v * nnf_logistic(1.5957691216057308 * (v + 0.044715 * v * v * v)));
    }
}

void nnf_clamp_f32_flat__scalar(size_t n, const float *x, float *y, float lo, float hi)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < lo ? lo : x[i] > hi ? hi : x[i];
}

void nnf_elu_f32_flat__scalar(size_t n, const float *x, float *y, float alpha)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = (float)(x[i] < 0 ? (double)alpha * expm1((double)x[i]) : x[i]);
    }
}

void nnf_lookup_qu8_flat__scalar(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    for (size_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

void nnf_line_qu8_flat__scalar(size_t n, const uint8_t *x, uint8_t *y, const nnf_line *line)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t code = x[i] ^ line->flip;
        code = code > line->least ? code : line->least;
        code = code < line->most ? code : line->most;
        const uint32_t word = 256 * code + line->part;
        uint32_t sum = line->offset;
        if (line->is_bent) {
            sum += ((word < line->limit[0] ? word : line->limit[0]) * line->slope[0]) >> 16;
            sum += ((word > line->limit[1] ? word : line->limit[1]) * line->slope[1]) >> 16;
        } else {
            sum += (word * line->slope[0]) >> 16;
        }
        y[i] = (uint8_t)(line->base + nnf_clamp_s32((int16_t)sum >> line->shift, -128, 127));
    }
}
