#include "convert.h"

#include <string.h>

#include "nnf/half.h"

/* `bits` shifted right by 1..31, to nearest even. */
static uint32_t rounded(uint32_t bits, uint32_t shift)
{
    return (bits + (1u << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift;
}

static uint16_t narrow(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF, exponent = magnitude >> 23;
    if (magnitude > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x1FF));
    if (exponent >= 143) /* 2^16 and above */
        return (uint16_t)(sign | 0x7C00);
    if (exponent >= 113) /* a normal half; the carry of the rounding may lead to the next power, or to infinity */
        return (uint16_t)(sign | rounded(magnitude - (112u << 23), 13));
    if (exponent >= 102) /* counts in units of 2^-24 */
        return (uint16_t)(sign | rounded((magnitude & 0x7FFFFF) | 0x800000, 126 - exponent));
    return (uint16_t)sign;
}

void nnf_convert_f16_f32_flat__scalar(size_t n, const uint16_t *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = nnf_half_to_float(x[i]);
}

void nnf_convert_f32_f16_flat__scalar(size_t n, const float *x, uint16_t *y)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, 4);
        y[i] = narrow(bits);
    }
}

#define NNF_INDEPENDENT
#define KERNEL(op) op##__scalar

#include "convert/convert_cast_kernels.h"
