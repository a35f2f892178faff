#include "tfl_binary/tfl_binary_curves.h"

void nnf_curve_f32_flat__scalar(size_t n, int op, const void *a, size_t step_a, const void *b, size_t step_b, void *y)
{
    const float *left = a, *right = b;
    float *result = y;
    if (op == NNF_F32_ATAN2)
        nnf_atan2_row(n, left, step_a, right, step_b, result);
    for (size_t i = 0; i < n && op == NNF_F32_FLOOR_DIV; i++)
        result[i] = nnf_floor_div(left[i * step_a], right[i * step_b]);
    for (size_t i = 0; i < n && op == NNF_F32_FLOOR_MOD; i++)
        result[i] = nnf_floor_mod(left[i * step_a], right[i * step_b]);
}
