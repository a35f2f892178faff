/* IEEE 754 half precision as floats, bit by bit: the reference that instructions are checked against. */
#ifndef NNF_HALF_H
#define NNF_HALF_H

#include <stdint.h>
#include <string.h>

/* Exact; a NaN becomes quiet and keeps its sign and fraction. */
static inline float nnf_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3FF;
    uint32_t bits;
    float value = (float)fraction * 0x1p-24f; /* a denormal half is a normal float */
    memcpy(&bits, &value, 4);
    if (exponent == 31)
        bits = 0x7F800000 | fraction << 13 | (fraction ? 0x400000 : 0);
    else if (exponent)
        bits = (exponent + 112) << 23 | fraction << 13;
    bits |= sign;
    memcpy(&value, &bits, 4);
    return value;
}

#endif
