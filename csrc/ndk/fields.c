#define _GNU_SOURCE
#include "fields.h"

#include <time.h>

#define LONGEST_NS UINT64_C(1000000000000000000)

void ndk_put_deadline(struct ndk_buffer *message, uint64_t duration)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (duration && duration < LONGEST_NS)
        ndk_put_double(message, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + 1e-9 * (double)duration);
    else
        ndk_put_nil(message);
}

void ndk_put_passes(struct ndk_buffer *message, bool is_reference)
{
    ndk_put_array(message, is_reference);
    if (is_reference)
        ndk_put_text(message, "native_kernels");
}

void ndk_put_name(struct ndk_buffer *message, const char *name)
{
    if (name)
        ndk_put_text(message, name);
    else
        ndk_put_nil(message);
}
