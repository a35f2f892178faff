/* How the driver's process is found, and started if it is not there. */
#ifndef NDK_START_H
#define NDK_START_H

#include <stdbool.h>

/* A connected socket. starts: start a driver if nobody serves. UNAVAILABLE_DEVICE if there is none. */
int ndk_reach(bool starts, int *fd);

#endif
