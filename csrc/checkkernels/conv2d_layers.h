/* What the benchmarks of convolution tiles run, whatever the type. */
#ifndef NNF_CONV2D_LAYERS_H
#define NNF_CONV2D_LAYERS_H

#include <stddef.h>

/* Pointwise layers of MobileNet v1: pixels, output channels, input channels. */
static const size_t layers[][3] = {{3136, 64, 32}, {784, 256, 128}, {196, 512, 512}, {49, 1024, 1024}, {1, 1024, 1024}};

#endif
