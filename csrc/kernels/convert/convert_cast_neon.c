/* The compiler makes the vectors: there are many pairs of types. */
#include "nnf/independent.h"

#define KERNEL(op) op##__neon_4

#include "convert/convert_cast_kernels.h"
