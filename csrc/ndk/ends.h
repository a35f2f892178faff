/* The end of what lanes are made of. A lane knows memories and a prepared model, which do not know lanes: they say when
 * they end, and whoever watches lets go of them. */
#ifndef NDK_ENDS_H
#define NDK_ENDS_H

#include <stdint.h>

/* A number that no other object has, or will have at the same address. */
uint64_t ndk_serial(void);

/* There is one watcher, which stays. */
typedef void ndk_watcher(uint64_t serial);
void ndk_watch_ends(ndk_watcher *watcher);

/* Called before an object with a serial number is freed. */
void ndk_say_end(uint64_t serial);

#endif
