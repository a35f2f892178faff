/* The compiler makes the vectors: networks compute few integers, mostly sizes and places. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#define NNF_INDEPENDENT _Pragma("GCC ivdep")
#else
#define NNF_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif
#define KERNEL(op) op##__avx2_32

#include "tfl_binary/tfl_binary_kernels.h"
