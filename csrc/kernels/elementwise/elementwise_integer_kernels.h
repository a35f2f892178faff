/* Kernels of integers and bytes. Include after words(), bytes(), KERNEL and KERNEL_BYTES. */
#ifndef NNF_ELEMENTWISE_INTEGER_KERNELS_H
#define NNF_ELEMENTWISE_INTEGER_KERNELS_H

void KERNEL(nnf_add_s32_flat)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_ADD, n, a, step_a, b, step_b, y);
}

void KERNEL(nnf_sub_s32_flat)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_SUB, n, a, step_a, b, step_b, y);
}

void KERNEL(nnf_mul_s32_flat)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MUL, n, a, step_a, b, step_b, y);
}

void KERNEL(nnf_div_s32_flat)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_DIV, n, a, step_a, b, step_b, y);
}

void KERNEL(nnf_max_s32_flat)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MAX, n, a, step_a, b, step_b, y);
}

void KERNEL(nnf_min_s32_flat)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MIN, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_max_qu8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y)
{
    bytes(OP_LARGER, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_min_qu8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y)
{
    bytes(OP_SMALLER, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_max_qs8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y)
{
    bytes(OP_LARGER_SIGNED, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_min_qs8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y)
{
    bytes(OP_SMALLER_SIGNED, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_equal_b8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                     uint8_t *y)
{
    bytes(OP_EQUAL, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_not_equal_b8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                         uint8_t *y)
{
    bytes(OP_NOT_EQUAL, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_less_b8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y)
{
    bytes(OP_LESS, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_less_equal_b8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                          uint8_t *y)
{
    bytes(OP_LESS_EQUAL, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_and_b8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                   uint8_t *y)
{
    bytes(OP_AND, n, a, step_a, b, step_b, y);
}

void KERNEL_BYTES(nnf_or_b8_flat)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                  uint8_t *y)
{
    bytes(OP_OR, n, a, step_a, b, step_b, y);
}

#endif
