#include "tfl_binary.h"

#define NNF_INDEPENDENT
#define KERNEL(op) op##__scalar
#define IN_VECTORS 0

#include "tfl_binary/tfl_binary_kernels.h"
