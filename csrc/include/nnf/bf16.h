/* Rounding to bfloat16, to nearest even, as the instructions do: a float32 number below 2^-126 becomes a zero of its
 * sign, and a NaN stays one. */
#ifndef NNF_BF16_H
#define NNF_BF16_H

#include <stdint.h>
#include <string.h>

static inline uint16_t nnf_bf16_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t magnitude = bits & UINT32_C(0x7fffffff);
    if (magnitude > UINT32_C(0x7f800000))
        return (uint16_t)(bits >> 16 | 0x40);
    if (magnitude < UINT32_C(0x00800000))
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float nnf_f32_of_bf16(uint16_t value)
{
    const uint32_t bits = (uint32_t)value << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#endif
