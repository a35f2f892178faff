/* The compiler makes the vectors: networks compute few integers, mostly sizes and places. */
#include "nnf/independent.h"

#define KERNEL(op) op##__avx2_32

#include "tfl_binary/tfl_binary_kernels.h"
