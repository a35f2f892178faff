/* The client's side of the driver's process: one session for all of this process. Its calls: connection.h.
 *
 * Functions return a code of ResultCode. A session whose driver has gone stays dead: whoever holds it gets DEAD_OBJECT,
 * and the next ndk_session() begins another, in a driver that it starts if nobody serves. */
#ifndef NDK_SESSION_H
#define NDK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "connection.h"

/* An operand type of an extension, as the driver has it. */
struct ndk_extension_type {
    uint16_t id;
    bool is_tensor;
    uint32_t size;
};

struct ndk_extension {
    char *name;
    struct ndk_extension_type *types;
    size_t count;
};

/* The session with the driver that serves now; its reference is the caller's. */
int ndk_session(struct ndk_session **session);
struct ndk_session *ndk_session_ref(struct ndk_session *session);
void ndk_session_unref(struct ndk_session *session);

/* Whether the driver, or the process that had begun the session, has gone. */
bool ndk_session_has_gone(struct ndk_session *session);

/* The same as far as it is known without asking the kernel. */
bool ndk_session_is_dead(const struct ndk_session *session);

/* The driver's version, as long as the session is held. */
const char *ndk_session_driver(const struct ndk_session *session);

/* Threads of a run that names no number. */
int64_t ndk_session_num_threads(const struct ndk_session *session);

/* The extension of this name; NULL if the driver has none. */
const struct ndk_extension *ndk_session_extension(const struct ndk_session *session, const char *name);

/* A number that was not used before in this session. */
int64_t ndk_session_number(struct ndk_session *session);

#endif
