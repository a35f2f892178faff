#include "int16.h"

#include "nnf/fixedpoint.h"

static inline int32_t scaled(int32_t x, const nnf_scaling *by)
{
    return nnf_rdbpot(nnf_srdhm((int32_t)((uint32_t)x << by->left), by->multiplier), by->right);
}

void nnf_add_qs16_flat__scalar(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b, int16_t *y,
                               const nnf_binary_q16 *p)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t left = scaled(a[i * step_a], &p->a), right = scaled(b[i * step_b], &p->b);
        y[i] = (int16_t)nnf_clamp_s32(scaled(p->is_minus ? left - right : left + right, &p->y), p->lo, p->hi);
    }
}

void nnf_mul_qs16_flat__scalar(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b, int16_t *y,
                               const nnf_binary_q16 *p)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (int16_t)nnf_clamp_s32(scaled(a[i * step_a] * b[i * step_b], &p->y), p->lo, p->hi);
}

static inline int32_t rescaled(int32_t x, const nnf_rescale *p)
{
    x = (int32_t)((uint32_t)x - (uint32_t)p->zero_x);
    const int32_t value = scaled(x, x < 0 ? &p->below : &p->above);
    return nnf_clamp_s32(value, p->lo - p->zero_y, p->hi - p->zero_y) + p->zero_y;
}

void nnf_rescale_qs16_flat__scalar(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    for (size_t i = 0; i < n; i++)
        ((int16_t *)y)[i] = (int16_t)rescaled(((const int16_t *)x)[i], p);
}

void nnf_rescale_qs16_qs8_flat__scalar(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    for (size_t i = 0; i < n; i++)
        ((int8_t *)y)[i] = (int8_t)rescaled(((const int16_t *)x)[i], p);
}

void nnf_rescale_qs16_s32_flat__scalar(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    for (size_t i = 0; i < n; i++)
        ((int32_t *)y)[i] = (int32_t)rescaled(((const int16_t *)x)[i], p);
}

void nnf_rescale_qs8_qs16_flat__scalar(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    for (size_t i = 0; i < n; i++)
        ((int16_t *)y)[i] = (int16_t)rescaled(((const int8_t *)x)[i], p);
}

void nnf_rescale_s32_qs16_flat__scalar(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    for (size_t i = 0; i < n; i++)
        ((int16_t *)y)[i] = (int16_t)rescaled(((const int32_t *)x)[i], p);
}

void nnf_rescale_s32_qs8_flat__scalar(size_t n, const void *x, void *y, const nnf_rescale *p)
{
    for (size_t i = 0; i < n; i++)
        ((int8_t *)y)[i] = (int8_t)rescaled(((const int32_t *)x)[i], p);
}

void nnf_curve_qs16_flat__scalar(size_t n, const int16_t *x, int16_t *y, const int16_t *table)
{
    for (size_t i = 0; i < n; i++) {
        const int16_t *at = table + 256 + (x[i] >> 7);
        const int16_t slope = (int16_t)(at[1] - at[0]);
        y[i] = (int16_t)(at[0] + ((slope * (x[i] & 127) + 64) >> 7));
    }
}

void nnf_sigmoid_qs16_flat__scalar(size_t n, const int16_t *x, int16_t *y, const nnf_sigmoid_q16 *p)
{
    const uint32_t half = (UINT32_C(1) << p->right) >> 1;
    for (size_t i = 0; i < n; i++) {
        const int32_t t = (int32_t)((uint32_t)x[i] * (uint32_t)p->multiplier + half) >> p->right;
        const uint32_t size = t < 0 ? -(uint32_t)t : (uint32_t)t, place = size >> p->bits;
        int32_t value = p->cap;
        if (place < 255) {
            const int32_t part = (int32_t)(size & ((UINT32_C(1) << p->bits) - 1));
            value = (p->table[place] << p->bits) + part * (p->table[place + 1] - p->table[place]);
        }
        value = t < 0 ? p->sum - value - 1 : value - p->less;
        y[i] = (int16_t)((value + (1 << p->shift >> 1)) >> p->shift);
    }
}

void nnf_quantize_f32_qs16_flat__scalar(size_t n, const float *x, int16_t *y, float scale)
{
    for (size_t i = 0; i < n; i++) {
        float steps = x[i] / scale;
        steps = steps > -65536 ? steps : -65536;
        steps = steps < 65536 ? steps : 65536;
        const int32_t whole = (int32_t)steps;
        const float rest = steps - (float)whole;
        y[i] = (int16_t)nnf_clamp_s32(whole + (rest >= 0.5f) - (rest <= -0.5f), INT16_MIN, INT16_MAX);
    }
}

void nnf_dequantize_qs16_f32_flat__scalar(size_t n, const int16_t *x, float *y, float scale)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)x[i] * scale;
}

void nnf_split_qs16_flat__scalar(size_t n, const int16_t *x, uint8_t *high, uint8_t *low)
{
    for (size_t i = 0; i < n; i++) {
        high[i] = (uint8_t)((x[i] >> 8) + 128);
        low[i] = (uint8_t)x[i];
    }
}

static inline int64_t sum_at(const nnf_word_sums *p, size_t i, size_t j)
{
    const int64_t high = p->high ? p->high[i * p->ldx + j] : 0, sum = high * 256 + p->low[i * p->ldx + j];
    return (int64_t)((uint64_t)sum + (uint64_t)p->offset[j]);
}

void nnf_requantize_wide_qs16_rows__scalar(const nnf_word_sums *p)
{
    for (size_t i = 0; i < p->rows; i++) {
        for (size_t j = 0; j < p->columns; j++) {
            const uint64_t product = (uint64_t)sum_at(p, i, j) * (uint64_t)p->multiplier[j];
            const int64_t value = (int64_t)(product + (UINT64_C(1) << (p->shift[j] - 1))) >> p->shift[j];
            p->y[i * p->ldy + j] = (int16_t)nnf_clamp_s32((int32_t)(uint32_t)value, p->lo, p->hi);
        }
    }
}

void nnf_requantize_s32_qs16_rows__scalar(const nnf_word_sums *p)
{
    for (size_t i = 0; i < p->rows; i++) {
        for (size_t j = 0; j < p->columns; j++) {
            const int32_t value = nnf_mbqm((int32_t)(uint32_t)sum_at(p, i, j), p->multiplier[j], p->shift[j]);
            p->y[i * p->ldy + j] = (int16_t)nnf_clamp_s32(value, p->lo, p->hi);
        }
    }
}

void nnf_requantize_real_qs16_rows__scalar(const nnf_word_sums *p)
{
    for (size_t i = 0; i < p->rows; i++) {
        for (size_t j = 0; j < p->columns; j++) {
            double steps = (double)sum_at(p, i, j) * p->scale[j];
            steps = steps > -65536 ? steps : -65536;
            steps = steps < 65536 ? steps : 65536;
            const int32_t whole = (int32_t)steps;
            const double rest = steps - whole; /* exact, where steps + 0.5 would round 0.49999999999999994 up */
            const int32_t value = whole + (rest >= 0.5) - (rest <= -0.5);
            p->y[i * p->ldy + j] = (int16_t)nnf_clamp_s32(value, p->lo, p->hi);
        }
    }
}
