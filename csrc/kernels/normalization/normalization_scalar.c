#include "normalization.h"

#include <math.h>
#include <string.h>

#include "nnf/fixedpoint.h"

void nnf_l2_norm_f32_rows__scalar(size_t n, const float *x, float *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    const double root = sqrt(sum), norm = root < 1e-6 ? 1e-6 : root;
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(x[i] / norm);
}

/* -- codes --------------------------------------------------------------------------------------------------------- */
/* A word of `from` integer bits with `bits` fewer of them, saturated. */
static int64_t narrow(int64_t x, int bits)
{
    const int64_t limit = (INT64_C(1) << (31 - bits)) - 1;
    return x > limit ? INT32_MAX : x < -limit ? INT32_MIN : x * (INT64_C(1) << bits);
}

/* 1 / sqrt(value) ~ result / 2^31 * 2^*exponent: five Newton steps on 32-bit words [NN 13.5]. */
static int32_t inverse_root(int64_t value, int *exponent)
{
    *exponent = 0;
    if (value <= 1)
        return INT32_MAX;
    int shift = 11;
    for (; value >= 1 << 29; shift++)
        value >>= 2;
    const int pairs = (__builtin_clzll((unsigned long long)value) - 33) / 2 - 1;
    const int32_t half = nnf_rdbpot((int32_t)(value << 2 * pairs >> 1), 1), one = 1 << 28;
    int32_t root = one;
    for (int i = 0; i < 5; i++) {
        const int32_t cube = (int32_t)narrow(nnf_srdhm(nnf_srdhm(root, root), root), 6);
        root = (int32_t)narrow((int64_t)nnf_srdhm(one + (one >> 1), root) - nnf_srdhm(half, cube), 3);
    }
    shift -= pairs;
    *exponent = shift > 0 ? -shift : 0;
    return (int32_t)((uint32_t)nnf_srdhm(root, 1518500250) << (shift < 0 ? -shift : 0));
}

static inline int32_t value_of(uint8_t code, uint8_t flip)
{
    return flip ? (int8_t)code : code;
}

static inline uint8_t code_of(int32_t centred, int32_t multiplier, int exponent, int once, uint8_t flip)
{
    const int32_t steps = once ? nnf_mbqm(centred, multiplier, exponent + 7)
                               : nnf_rdbpot(nnf_srdhm(128 * centred, multiplier), -exponent);
    return (uint8_t)(nnf_clamp_s32(steps, -128, 127) + (flip ? 0 : 128));
}

static inline void l2_codes(uint8_t flip, size_t n, const uint8_t *x, uint8_t *y, int32_t zero_x, int once)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t centred = value_of(x[i], flip) - zero_x;
        sum += centred * centred;
    }
    int exponent;
    const int32_t multiplier = inverse_root(sum, &exponent);
    if (n < 256) {
        for (size_t i = 0; i < n; i++)
            y[i] = code_of(value_of(x[i], flip) - zero_x, multiplier, exponent, once, flip);
        return;
    }
    uint8_t codes[256];
    for (int code = 0; code < 256; code++)
        codes[code] = code_of(value_of((uint8_t)code, flip) - zero_x, multiplier, exponent, once, flip);
    for (size_t i = 0; i < n; i++)
        y[i] = codes[x[i]];
}

void nnf_l2_norm_qu8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, int32_t zero_x, int once)
{
    l2_codes(0, n, x, y, zero_x, once);
}

void nnf_l2_norm_qs8_rows__scalar(size_t n, const uint8_t *x, uint8_t *y, int32_t zero_x, int once)
{
    l2_codes(128, n, x, y, zero_x, once);
}

/* -- local response ------------------------------------------------------------------------------------------------ */
void nnf_lrn_f32_rows__scalar(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    /* Sums without subtractions: of blocks of 1, 2, 4 ... neighbours, added where the window's length has a bit. */
    double *block = sums, *total = sums + n + 2 * p->radius;
    size_t width = n + 2 * p->radius, start = 0, size = 1;
    memset(sums, 0, 2 * (n + p->radius) * sizeof *sums);
    for (size_t i = 0; i < n; i++)
        block[p->radius + i] = (double)x[i] * x[i];
    for (size_t left = 2 * p->radius + 1; left; left >>= 1, size *= 2) {
        if (left & 1) {
            for (size_t i = 0; i < n; i++)
                total[i] += block[start + i];
            start += size;
        }
        if (left > 1) {
            width -= size;
            for (size_t i = 0; i < width; i++)
                block[i] += block[i + size];
        }
    }
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(x[i] * pow(p->bias + p->alpha * total[i], -p->beta));
}

/* -- instances ----------------------------------------------------------------------------------------------------- */
static inline void instance(const nnf_instance_norm *p, size_t n, size_t stride, const float *x, float *y)
{
    for (size_t c = 0; c < n; c++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < p->pixels; i++)
            sum += x[i * stride + c];
        const double mean = sum / (double)p->pixels;
        for (size_t i = 0; i < p->pixels; i++) {
            const double centred = x[i * stride + c] - mean;
            squares += centred * centred;
        }
        const double spread = sqrt(squares / (double)p->pixels + p->epsilon);
        for (size_t i = 0; i < p->pixels; i++)
            y[i * stride + c] = (float)((x[i * stride + c] - mean) * p->gamma / spread + p->beta);
    }
}

void nnf_instance_norm_f32_nhwc__scalar(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    instance(p, n, p->stride, x, y);
}

void nnf_instance_norm_f32_nchw__scalar(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    instance(p, n, 1, x, y);
}

void nnf_layer_norm_f32_rows__scalar(const nnf_layer_norm *p, size_t rows, size_t n, const float *x, const float *gamma,
                                     const float *beta, float *y)
{
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += x[i];
        const float mean = (float)(sum / (double)n);
        sum = 0;
        for (size_t i = 0; i < n; i++) {
            const float centred = x[i] - mean, square = centred * centred;
            sum += square;
        }
        const float deviation = sqrtf((float)(sum / (double)n) + p->epsilon), inverse = 1 / deviation;
        for (size_t i = 0; i < n; i++) {
            if (p->is_folded) {
                const float factor = inverse * gamma[i];
                y[i] = x[i] * factor + (beta[i] - mean * factor);
                continue;
            }
            float value = p->divides ? (x[i] - mean) / deviation : (x[i] - mean) * inverse;
            if (p->has_gamma)
                value *= gamma[i];
            y[i] = p->has_beta ? value + beta[i] : value;
        }
    }
}
