/* Operations on two floats, which define the vectors of them. */
#ifndef NNF_TFL_BINARY_CURVES_H
#define NNF_TFL_BINARY_CURVES_H

#include <math.h>

#include "tfl_binary/tfl_binary.h"

static inline float nnf_floor_div(float a, float b) { return (float)floor((double)a / (double)b); }

static inline float nnf_floor_mod(float a, float b)
{
    const float rest = fmodf(a, b);
    return rest == 0 ? copysignf(0, b) : (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline void nnf_atan2_row(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)atan2((double)a[i * step_a], (double)b[i * step_b]);
}

#endif
