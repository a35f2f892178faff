/* The devices of this process. */
#ifndef NDK_DEVICE_H
#define NDK_DEVICE_H

#include "object.h"

/* Checks a list of devices: UNEXPECTED_NULL, BAD_DATA for none, one twice, or what is no device of this library. */
int ndk_check_devices(const ANeuralNetworksDevice *const *devices, uint32_t count);

bool ndk_is_reference(const ANeuralNetworksDevice *device);

#endif
