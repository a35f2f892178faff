#include "elementwise.h"

void nnf_add_f32_flat__scalar(size_t n, const float *a, const float *b, float *y, float lo, float hi)
{
    for (size_t i = 0; i < n; i++) {
        const float sum = a[i] + b[i];
        y[i] = sum < lo ? lo : sum > hi ? hi : sum;
    }
}
