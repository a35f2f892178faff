/* What every file of the library includes: the public headers, with what is exported marked. */
#ifndef NDK_OBJECT_H
#define NDK_OBJECT_H

#pragma GCC visibility push(default)
#include "../../nnfast/include/android/NeuralNetworks.h"
#include "../../nnfast/include/android/NeuralNetworksExtensions.h"
#include "../../nnfast/include/android/sharedmem.h"
#pragma GCC visibility pop

#endif
