#define KERNEL(op) op##__avxvnni_18x16

#include "conv2d_q8_winograd_avx2.h"
