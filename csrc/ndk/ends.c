#include "ends.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_ullong last;
static ndk_watcher *_Atomic watching;

uint64_t ndk_serial(void)
{
    return ++last;
}

void ndk_watch_ends(ndk_watcher *watcher)
{
    watching = watcher;
}

void ndk_say_end(uint64_t serial)
{
    ndk_watcher *watcher = watching;
    if (watcher)
        watcher(serial);
}
