/* Releases of objects of the driver. */
#ifndef NDK_RELEASE_H
#define NDK_RELEASE_H

#include "packets.h"

struct ndk_session;

/* Tells the driver that an object is no longer needed. */
void ndk_session_release(struct ndk_session *session, const char *kind, int64_t number);

/* Tells it of a prepared model with the next call: a message of its own would cost more than a small model does. */
void ndk_session_release_later(struct ndk_session *session, int64_t number);

/* Writes the message that releases what was put off, if there is something. Under the lock of the session. */
void ndk_session_put_released(struct ndk_session *session, struct ndk_buffer *message);

#endif
