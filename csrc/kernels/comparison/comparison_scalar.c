#include "comparison.h"

void nnf_equal_f32_flat__scalar(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] == b[i * step_b];
}

void nnf_not_equal_f32_flat__scalar(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                    uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] != b[i * step_b];
}

void nnf_less_f32_flat__scalar(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                               uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] < b[i * step_b];
}

void nnf_less_equal_f32_flat__scalar(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                     uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] <= b[i * step_b];
}

void nnf_equal_s32_flat__scalar(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                                uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] == b[i * step_b];
}

void nnf_not_equal_s32_flat__scalar(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                                    uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] != b[i * step_b];
}

void nnf_less_s32_flat__scalar(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                               uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] < b[i * step_b];
}

void nnf_less_equal_s32_flat__scalar(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                                     uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i * step_a] <= b[i * step_b];
}

void nnf_select_qu8_flat__scalar(size_t n, const uint8_t *choice, const uint8_t *a, const uint8_t *b, uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = choice[i] ? a[i] : b[i];
}

void nnf_select_s32_flat__scalar(size_t n, const uint8_t *choice, const int32_t *a, const int32_t *b, int32_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = choice[i] ? a[i] : b[i];
}
