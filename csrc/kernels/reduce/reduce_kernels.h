/* Kernels of sums and extremes. Include after rows(), columns(), codes(), codes_across(), KERNEL and KERNEL_BYTES. */
#ifndef NNF_REDUCE_KERNELS_H
#define NNF_REDUCE_KERNELS_H

#define FLOATS(name, loop, op)                                                                                         \
    void KERNEL(name)(const nnf_reduce *p, size_t n, const float *x, float *y)                                         \
    {                                                                                                                  \
        loop(op, p, n, x, y);                                                                                          \
    }

#define CODES(name, loop, op)                                                                                          \
    void KERNEL_BYTES(name)(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)                               \
    {                                                                                                                  \
        loop(op, p, n, x, y);                                                                                          \
    }

FLOATS(nnf_reduce_sum_f32_rows, rows, OP_SUM)
FLOATS(nnf_reduce_max_f32_rows, rows, OP_MAX)
FLOATS(nnf_reduce_min_f32_rows, rows, OP_MIN)
FLOATS(nnf_reduce_sum_across_f32_rows, columns, OP_SUM)
FLOATS(nnf_reduce_max_across_f32_rows, columns, OP_MAX)
FLOATS(nnf_reduce_min_across_f32_rows, columns, OP_MIN)

CODES(nnf_reduce_max_qu8_rows, codes, OP_MAX)
CODES(nnf_reduce_min_qu8_rows, codes, OP_MIN)
CODES(nnf_reduce_max_across_qu8_rows, codes_across, OP_MAX)
CODES(nnf_reduce_min_across_qu8_rows, codes_across, OP_MIN)

#undef FLOATS
#undef CODES

#endif
