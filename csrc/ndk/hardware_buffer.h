/* What the library asks of a hardware buffer. */
#ifndef NDK_HARDWARE_BUFFER_H
#define NDK_HARDWARE_BUFFER_H

#include "object.h"

/* The memfd of a buffer, which stays the buffer's. */
int ndk_buffer_fd(const AHardwareBuffer *buffer);

#endif
