/* Fields that several calls to the driver share. */
#ifndef NDK_FIELDS_H
#define NDK_FIELDS_H

#include "msgpack.h"

/* Names of the compiler passes to leave out, as Prepare and LoadCache take them. */
void ndk_put_passes(struct ndk_buffer *message, bool is_reference);

/* Time `duration` nanoseconds from now as the driver takes it, in seconds of CLOCK_MONOTONIC; nil for 0, and for what is
 * further away than any execution. */
void ndk_put_deadline(struct ndk_buffer *message, uint64_t duration);

/* A text, nil for NULL. */
void ndk_put_name(struct ndk_buffer *message, const char *name);

#endif
