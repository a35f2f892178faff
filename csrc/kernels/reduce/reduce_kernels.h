/* Kernels of sums and extremes, result by result. Include after rows(), columns(), codes(), codes_across(), KERNEL and
 * KERNEL_BYTES. */
#ifndef NNF_REDUCE_KERNELS_H
#define NNF_REDUCE_KERNELS_H

#define FLOATS(name, loop, op, width)                                                                                  \
    void KERNEL(name)(const nnf_reduce *p, size_t results, size_t apart, size_t n, const float *x, float *y)           \
    {                                                                                                                  \
        for (size_t r = 0; r < results; r++)                                                                           \
            loop(op, p, n, x + r * apart, y + r * (width));                                                            \
    }

#define CODES(name, loop, op, width)                                                                                   \
    void KERNEL_BYTES(name)(const nnf_reduce *p, size_t results, size_t apart, size_t n, const uint8_t *x, uint8_t *y) \
    {                                                                                                                  \
        for (size_t r = 0; r < results; r++)                                                                           \
            loop(op, p, n, x + r * apart, y + r * (width));                                                            \
    }

FLOATS(nnf_reduce_sum_f32_rows, rows, OP_SUM, 1)
FLOATS(nnf_reduce_max_f32_rows, rows, OP_MAX, 1)
FLOATS(nnf_reduce_min_f32_rows, rows, OP_MIN, 1)
FLOATS(nnf_reduce_sum_across_f32_rows, columns, OP_SUM, n)
FLOATS(nnf_reduce_max_across_f32_rows, columns, OP_MAX, n)
FLOATS(nnf_reduce_min_across_f32_rows, columns, OP_MIN, n)

CODES(nnf_reduce_max_qu8_rows, codes, OP_MAX, 1)
CODES(nnf_reduce_min_qu8_rows, codes, OP_MIN, 1)
CODES(nnf_reduce_max_across_qu8_rows, codes_across, OP_MAX, n)
CODES(nnf_reduce_min_across_qu8_rows, codes_across, OP_MIN, n)

#undef FLOATS
#undef CODES

#endif
