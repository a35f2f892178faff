/* The compiler makes the vectors: networks compute few integers, mostly sizes and places. */
#include "nnf/independent.h"

#define KERNEL(op) op##__avx2_32
#define IN_VECTORS 1

#include "tfl_binary/tfl_binary_kernels.h"
