/* Kernels of pools. Include after pool_f32(), pool_q8() and KERNEL. */
#ifndef NNF_POOLING_KERNELS_H
#define NNF_POOLING_KERNELS_H

void KERNEL(nnf_average_pool2d_f32_nhwc)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                         const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, true);
}

void KERNEL(nnf_average_pool2d_qu8_nhwc)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                         const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, false);
}

void KERNEL(nnf_average_pool2d_qs8_nhwc)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                         const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, true);
}

void KERNEL(nnf_max_pool2d_f32_nhwc)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                     const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, false);
}

void KERNEL(nnf_max_pool2d_qu8_nhwc)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                     const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, false);
}

void KERNEL(nnf_max_pool2d_qs8_nhwc)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                     const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, true);
}

#endif
