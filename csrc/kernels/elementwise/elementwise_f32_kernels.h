/* Kernels of floats. Include after binary() and KERNEL. */
#ifndef NNF_ELEMENTWISE_F32_KERNELS_H
#define NNF_ELEMENTWISE_F32_KERNELS_H

#define BINARY(name, op)                                                                                               \
    void KERNEL(name)(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y, float lo,      \
                      float hi)                                                                                        \
    {                                                                                                                  \
        binary(op, n, a, step_a, b, step_b, y, lo, hi);                                                                \
    }

BINARY(nnf_add_f32_flat, OP_ADD)
BINARY(nnf_sub_f32_flat, OP_SUB)
BINARY(nnf_mul_f32_flat, OP_MUL)
BINARY(nnf_div_f32_flat, OP_DIV)
BINARY(nnf_max_f32_flat, OP_MAX)
BINARY(nnf_min_f32_flat, OP_MIN)
BINARY(nnf_prelu_f32_flat, OP_PRELU)
BINARY(nnf_squared_difference_f32_flat, OP_SQUARED_DIFFERENCE)

#undef BINARY

#endif
