/* Kernels of pools. Include after pool_f32(), pool_q8(), pool_q16() and KERNEL. */
#ifndef NNF_POOLING_KERNELS_H
#define NNF_POOLING_KERNELS_H

#define FLOATS(name, average)                                                                                          \
    void KERNEL(name)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const float *x,          \
                      float *y, float lo, float hi)                                                                    \
    {                                                                                                                  \
        pool_f32(g, first, last, begin, end, x, y, lo, hi, average);                                                   \
    }

#define CODES(name, average, is_signed)                                                                                \
    void KERNEL(name)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,        \
                      uint8_t *y, int32_t lo, int32_t hi)                                                              \
    {                                                                                                                  \
        pool_q8(g, first, last, begin, end, x, y, lo, hi, average, is_signed);                                         \
    }

#define WORDS(name, average)                                                                                           \
    void KERNEL(name)(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const int16_t *x,        \
                      int16_t *y, int32_t lo, int32_t hi)                                                              \
    {                                                                                                                  \
        pool_q16(g, first, last, begin, end, x, y, lo, hi, average);                                                   \
    }

FLOATS(nnf_average_pool2d_f32_nhwc, true)
CODES(nnf_average_pool2d_qu8_nhwc, true, false)
CODES(nnf_average_pool2d_qs8_nhwc, true, true)
WORDS(nnf_average_pool2d_qs16_nhwc, true)

FLOATS(nnf_max_pool2d_f32_nhwc, false)
CODES(nnf_max_pool2d_qu8_nhwc, false, false)
CODES(nnf_max_pool2d_qs8_nhwc, false, true)
WORDS(nnf_max_pool2d_qs16_nhwc, false)

#undef FLOATS
#undef CODES
#undef WORDS

#endif
