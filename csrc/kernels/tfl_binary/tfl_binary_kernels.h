/* Kernels of all types of integers. Include after KERNEL; IN_VECTORS, whether the compiler makes vectors of the loops; and
 * NNF_INDEPENDENT, which says of the loop behind it that no round of it waits for another. */
#ifndef NNF_TFL_BINARY_KERNELS_H
#define NNF_TFL_BINARY_KERNELS_H

#include <stdbool.h>

#include "nnf/unroll.h"
#include "tfl_binary/tfl_binary.h"

#define WORD int8_t
#define NAME(what) what##_s8
#include "tfl_binary/tfl_binary_words_kernels.h"

#define WORD uint8_t
#define NAME(what) what##_qu8
#include "tfl_binary/tfl_binary_words_kernels.h"

#define WORD int16_t
#define NAME(what) what##_s16
#include "tfl_binary/tfl_binary_words_kernels.h"

#define WORD int32_t
#define NAME(what) what##_s32
#include "tfl_binary/tfl_binary_words_kernels.h"

#define WORD int64_t
#define NAME(what) what##_s64
#include "tfl_binary/tfl_binary_words_kernels.h"

#define ROW(name, loop)                                                                                                \
    void KERNEL(name)(size_t n, int op, const void *a, size_t step_a, const void *b, size_t step_b, void *y)           \
    {                                                                                                                  \
        loop(op, n, a, step_a, b, step_b, y);                                                                          \
    }

ROW(nnf_arithmetic_s8_flat, arithmetic_s8)
ROW(nnf_arithmetic_qu8_flat, arithmetic_qu8)
ROW(nnf_arithmetic_s16_flat, arithmetic_s16)
ROW(nnf_arithmetic_s32_flat, arithmetic_s32)
ROW(nnf_arithmetic_s64_flat, arithmetic_s64)
ROW(nnf_relation_s8_flat, relation_s8)
ROW(nnf_relation_qu8_flat, relation_qu8)
ROW(nnf_relation_s16_flat, relation_s16)
ROW(nnf_relation_s32_flat, relation_s32)
ROW(nnf_relation_s64_flat, relation_s64)

#undef ROW

#endif
