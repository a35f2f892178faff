#include "tfl_binary.h"

#include <math.h>

#define NNF_INDEPENDENT
#define KERNEL(op) op##__scalar
#define IN_VECTORS 0

#include "tfl_binary/tfl_binary_kernels.h"

static inline float curve(enum nnf_float_op op, float a, float b)
{
    float rest;
    switch (op) {
    case NNF_F32_ATAN2:
        return (float)atan2((double)a, (double)b);
    case NNF_F32_FLOOR_DIV:
        return (float)floor((double)a / (double)b);
    default:
        rest = fmodf(a, b);
        return rest == 0 ? copysignf(0, b) : (rest < 0) != (b < 0) ? rest + b : rest;
    }
}

void nnf_curve_f32_flat__scalar(size_t n, int op, const void *a, size_t step_a, const void *b, size_t step_b, void *y)
{
    const float *left = a, *right = b;
    float *result = y;
    for (size_t i = 0; i < n; i++)
        result[i] = curve((enum nnf_float_op)op, left[i * step_a], right[i * step_b]);
}
