/* Kernels of floats. Include after binary() and KERNEL. */
#ifndef NNF_ELEMENTWISE_F32_KERNELS_H
#define NNF_ELEMENTWISE_F32_KERNELS_H

void KERNEL(nnf_add_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_ADD, n, a, step_a, b, step_b, y, lo, hi);
}

void KERNEL(nnf_sub_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_SUB, n, a, step_a, b, step_b, y, lo, hi);
}

void KERNEL(nnf_mul_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MUL, n, a, step_a, b, step_b, y, lo, hi);
}

void KERNEL(nnf_div_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_DIV, n, a, step_a, b, step_b, y, lo, hi);
}

void KERNEL(nnf_max_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MAX, n, a, step_a, b, step_b, y, lo, hi);
}

void KERNEL(nnf_min_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_MIN, n, a, step_a, b, step_b, y, lo, hi);
}

void KERNEL(nnf_prelu_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                float lo, float hi)
{
    binary(OP_PRELU, n, a, step_a, b, step_b, y, lo, hi);
}

void KERNEL(nnf_squared_difference_f32_flat)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b,
                                             float *y, float lo, float hi)
{
    binary(OP_SQUARED_DIFFERENCE, n, a, step_a, b, step_b, y, lo, hi);
}

#endif
