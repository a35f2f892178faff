#include "softmax.h"

#include <math.h>

#include "nnf/fixedpoint.h"
#include "nnf/math_scalar.h"
#include "softmax/softmax_q8.h"

void nnf_softmax_f32_rows__scalar(size_t n, const float *x, float *y, float beta)
{
    float max = x[0];
    for (size_t i = 1; i < n; i++)
        max = x[i] > max || max != max ? x[i] : max;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += nnf_exp_neg((double)((x[i] - max) * beta));
    for (size_t i = 0; i < n; i++)
        y[i] = nnf_normal_or_zero(nnf_exp_neg((double)((x[i] - max) * beta)) / sum);
}

void nnf_log_softmax_f32_rows__scalar(size_t n, const float *x, float *y, float beta)
{
    float most = x[0];
    for (size_t i = 1; i < n; i++)
        most = (beta < 0 ? x[i] < most : x[i] > most) || most != most ? x[i] : most;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += nnf_exp_neg(((double)x[i] - most) * beta);
    const double logarithm = log(sum);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(((double)x[i] - most) * beta - logarithm);
}

void nnf_softmax_narrow_f32_rows__scalar(size_t rows, size_t n, const float *x, float *y, float beta)
{
    for (size_t row = 0; row < rows; row++)
        nnf_softmax_f32_rows__scalar(n, x + row * n, y + row * n, beta);
}

void nnf_log_softmax_narrow_f32_rows__scalar(size_t rows, size_t n, const float *x, float *y, float beta)
{
    for (size_t row = 0; row < rows; row++)
        nnf_log_softmax_f32_rows__scalar(n, x + row * n, y + row * n, beta);
}

/* A power by the reciprocal of the sum, in steps that the shift leaves. */
static int32_t part_of(int32_t power, int32_t scale, int shift)
{
    const int32_t product = nnf_srdhm(scale, power);
    /* From 32 bits on nothing is left of a 31-bit product. */
    return shift > 31 ? 0 : nnf_rdbpot(product, shift);
}

static uint8_t code_of(int32_t power, int32_t scale, int shift)
{
    return (uint8_t)nnf_clamp_s32(part_of(power, scale, shift), 0, 255);
}

/* With the sign bit flipped, signed codes order and differ as unsigned ones. */
static uint8_t largest(uint8_t flip, size_t n, const uint8_t *x)
{
    uint8_t max = 0;
    for (size_t i = 0; i < n; i++)
        max = (uint8_t)(x[i] ^ flip) > max ? (uint8_t)(x[i] ^ flip) : max;
    return max;
}

/* The sum of powers, which stand behind the table's 256 other numbers. */
static int64_t sum_of(uint8_t flip, size_t n, const uint8_t *x, uint8_t max, const int32_t table[512])
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += table[256 + max - (x[i] ^ flip)];
    return sum;
}

static inline void softmax(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    const uint8_t max = largest(flip, n, x);
    int shift;
    const int32_t scale = nnf_reciprocal_of_sum(sum_of(flip, n, x, max, power), 8, &shift);
    if (n < 256) {
        for (size_t i = 0; i < n; i++)
            y[i] = code_of(power[max - (x[i] ^ flip)], scale, shift) ^ flip;
        return;
    }
    uint8_t codes[256];
    for (int d = 0; d <= max; d++)
        codes[d] = code_of(power[d], scale, shift) ^ flip;
    for (size_t i = 0; i < n; i++)
        y[i] = codes[max - (x[i] ^ flip)];
}

/* At a distance from the highest code's logarithm and that of the sum, in F5. */
static uint8_t log_code_of(int32_t distance, int32_t logarithm)
{
    const int32_t steps = (distance + logarithm + (1 << 21)) >> 22;
    return (uint8_t)(255 - (steps < 255 ? steps : 255));
}

static inline void log_softmax(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t distance[512])
{
    const uint8_t max = largest(flip, n, x);
    const int32_t logarithm = nnf_logarithm_of_sum((int32_t)sum_of(flip, n, x, max, distance));
    if (n < 256) {
        for (size_t i = 0; i < n; i++)
            y[i] = log_code_of(distance[max - (x[i] ^ flip)], logarithm) ^ flip;
        return;
    }
    uint8_t codes[256];
    for (int d = 0; d <= max; d++)
        codes[d] = log_code_of(distance[d], logarithm) ^ flip;
    for (size_t i = 0; i < n; i++)
        y[i] = codes[max - (x[i] ^ flip)];
}

static inline void softmax_words(uint8_t flip, size_t n, const uint8_t *x, int16_t *y, const int32_t power[512])
{
    const uint8_t max = largest(flip, n, x);
    int shift;
    const int32_t scale = nnf_reciprocal_of_sum(sum_of(flip, n, x, max, power), 16, &shift);
    for (size_t i = 0; i < n; i++) {
        const int32_t part = part_of(power[max - (x[i] ^ flip)], scale, shift);
        y[i] = (int16_t)(nnf_clamp_s32(part, 0, UINT16_MAX) + INT16_MIN);
    }
}

void nnf_softmax_qu8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    softmax(0, n, x, y, power);
}

void nnf_softmax_qs8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    softmax(128, n, x, y, power);
}

void nnf_softmax_narrow_qu8_rows__scalar(size_t rows, size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    for (size_t row = 0; row < rows; row++)
        softmax(0, n, x + row * n, y + row * n, power);
}

void nnf_softmax_narrow_qs8_rows__scalar(size_t rows, size_t n, const uint8_t *x, uint8_t *y, const int32_t power[512])
{
    for (size_t row = 0; row < rows; row++)
        softmax(128, n, x + row * n, y + row * n, power);
}

void nnf_log_softmax_qu8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, const int32_t distance[512])
{
    log_softmax(0, n, x, y, distance);
}

void nnf_log_softmax_qs8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, const int32_t distance[512])
{
    log_softmax(128, n, x, y, distance);
}

void nnf_softmax_qu8_qs16_rows__scalar(size_t n, const uint8_t *x, int16_t *y, const int32_t power[512])
{
    softmax_words(0, n, x, y, power);
}

void nnf_softmax_qs8_qs16_rows__scalar(size_t n, const uint8_t *x, int16_t *y, const int32_t power[512])
{
    softmax_words(128, n, x, y, power);
}

/* The value of a table at a code, on the line between two of its 513 values. */
static int32_t value_at(const int16_t *table, int32_t code)
{
    code = nnf_clamp_s32(code, INT16_MIN, INT16_MAX);
    const int16_t *at = table + 256 + (code >> 7);
    return (int16_t)(at[0] + (((int16_t)(at[1] - at[0]) * (code & 127) + 64) >> 7));
}

void nnf_softmax_qs16_rows__scalar(size_t n, const int16_t *x, int16_t *y, const nnf_softmax_q16 *p)
{
    int32_t max = x[0];
    for (size_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t difference = nnf_mbqm(x[i] - max, p->multiplier, p->exponent);
        y[i] = (int16_t)value_at(p->power, nnf_clamp_s32(difference, -UINT16_MAX, 0) + INT16_MAX);
        sum += y[i];
    }
    const int length = 64 - __builtin_clzll(sum > 1 ? (unsigned long long)sum : 1), shift = length - 1;
    const int64_t fraction = (((sum << (31 - length)) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16);
    const int32_t scale = value_at(p->reciprocal, (int32_t)fraction);
    for (size_t i = 0; i < n; i++)
        y[i] = (int16_t)nnf_clamp_s32((y[i] * scale + (1 << shift >> 1)) >> shift, 0, INT16_MAX);
}
