/* Kernels of integers and bytes. Include after words(), bytes(), KERNEL and KERNEL_BYTES. */
#ifndef NNF_ELEMENTWISE_INTEGER_KERNELS_H
#define NNF_ELEMENTWISE_INTEGER_KERNELS_H

#define WORDS(name, op)                                                                                                \
    void KERNEL(name)(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)          \
    {                                                                                                                  \
        words(op, n, a, step_a, b, step_b, y);                                                                         \
    }

#define BYTES(name, op)                                                                                                \
    void KERNEL_BYTES(name)(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)    \
    {                                                                                                                  \
        bytes(op, n, a, step_a, b, step_b, y);                                                                         \
    }

WORDS(nnf_add_s32_flat, OP_ADD)
WORDS(nnf_sub_s32_flat, OP_SUB)
WORDS(nnf_mul_s32_flat, OP_MUL)
WORDS(nnf_div_s32_flat, OP_DIV)
WORDS(nnf_max_s32_flat, OP_MAX)
WORDS(nnf_min_s32_flat, OP_MIN)

BYTES(nnf_max_qu8_flat, OP_LARGER)
BYTES(nnf_min_qu8_flat, OP_SMALLER)
BYTES(nnf_max_qs8_flat, OP_LARGER_SIGNED)
BYTES(nnf_min_qs8_flat, OP_SMALLER_SIGNED)
BYTES(nnf_equal_b8_flat, OP_EQUAL)
BYTES(nnf_not_equal_b8_flat, OP_NOT_EQUAL)
BYTES(nnf_less_b8_flat, OP_LESS)
BYTES(nnf_less_equal_b8_flat, OP_LESS_EQUAL)
BYTES(nnf_and_b8_flat, OP_AND)
BYTES(nnf_or_b8_flat, OP_OR)

#undef WORDS
#undef BYTES

#endif
