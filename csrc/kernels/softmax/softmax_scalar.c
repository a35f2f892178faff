#include "softmax.h"

#include <math.h>

#include "nnf/fixedpoint.h"
#include "nnf/math_scalar.h"

void nnf_softmax_f32_rows__scalar(size_t n, const float *x, float *y, float beta)
{
    float max = x[0];
    for (size_t i = 1; i < n; i++)
        max = x[i] > max || max != max ? x[i] : max;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += nnf_exp_neg((double)((x[i] - max) * beta));
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(nnf_exp_neg((double)((x[i] - max) * beta)) / sum);
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

/* Fa * 2^bits as F(a - bits), saturated; the value stays positive here. */
static int32_t raise(int32_t x, int bits)
{
    return x > (INT32_MAX >> bits) ? INT32_MAX : x * (1 << bits);
}

/* 1 / (1 + a) as F0 for a: F0 in [0, 1], three Newton steps from a linear start [NN 13.5 recip1p]. */
static int32_t reciprocal_of_one_plus(int32_t a)
{
    const int32_t one = 1 << 29; /* F2 */
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) >> 1);
    int32_t x = 1515870810 + nnf_srdhm(half, -1010580540); /* 48/17 - 32/17 half */
    for (int i = 0; i < 3; i++) {
        const int32_t change = nnf_srdhm(x, one - nnf_srdhm(half, x)); /* F4 to F2 */
        x += change > INT32_MAX >> 2 ? INT32_MAX : change < -(INT32_MAX >> 2) ? INT32_MIN : change * 4;
    }
    return raise(x, 1); /* half of an F2 word is the same word read as F1 */
}

/* Code of one power, unsigned. */
static uint8_t code_of(int32_t power, int32_t scale, int shift)
{
    const int32_t product = nnf_srdhm(scale, power);
    /* From 32 bits on nothing is left of a 31-bit product. */
    return (uint8_t)nnf_clamp_s32(shift > 31 ? 0 : nnf_rdbpot(product, shift), 0, 255);
}

static inline void softmax(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, const int32_t power[256])
{
    /* With the sign bit flipped, signed codes order and differ as unsigned ones. */
    uint8_t max = 0;
    for (size_t i = 0; i < n; i++)
        max = (uint8_t)(x[i] ^ flip) > max ? (uint8_t)(x[i] ^ flip) : max;
    int32_t rounded[256];
    for (int d = 0; d <= max; d++)
        rounded[d] = nnf_rdbpot(power[d], 12);
    int64_t sum = 0; /* at least e^0 in F12, 2^19 */
    for (size_t i = 0; i < n; i++)
        sum += rounded[max - (x[i] ^ flip)];
    /* The sum in [1, 2) of F0; one that outgrows 32 bits gives bits away. */
    const int zeros = __builtin_clzll((unsigned long long)sum) - 32;
    const int64_t scaled = zeros >= 0 ? sum << zeros : sum >> -zeros;
    const int32_t scale = reciprocal_of_one_plus((int32_t)(scaled - (INT64_C(1) << 31)));
    const int shift = 12 - zeros + 23;
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

void nnf_softmax_qu8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[256])
{
    softmax(0, n, x, y, power);
}

void nnf_softmax_qs8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, const int32_t power[256])
{
    softmax(128, n, x, y, power);
}
