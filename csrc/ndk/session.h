/* The client's side of the driver's process: one session for all of this process, and connections for its calls.
 *
 * Functions return a code of ResultCode. A session whose driver has gone stays dead: whoever holds it gets DEAD_OBJECT,
 * and the next ndk_session() begins another, in a driver that it starts if nobody serves. */
#ifndef NDK_SESSION_H
#define NDK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "msgpack.h"
#include "protocol.h"

struct ndk_session;

/* A connection in use by one thread. arena: memory that both sides map, or NULL. */
struct ndk_connection {
    struct ndk_session *session;
    struct ndk_connection *next_idle, *next;
    int fd;
    bool is_broken, is_new_arena;
    uint8_t *arena;
    size_t arena_size;
    uint8_t *large;
    uint8_t packet[NDK_MAX_PACKET];
};

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

/* The driver's version, as long as the session is held. */
const char *ndk_session_driver(const struct ndk_session *session);

/* The extension of this name; NULL if the driver has none. */
const struct ndk_extension *ndk_session_extension(const struct ndk_session *session, const char *name);

/* A number that was not used before in this session. */
int64_t ndk_session_number(struct ndk_session *session);

/* Tells the driver that an object is no longer needed. */
void ndk_session_release(struct ndk_session *session, const char *kind, int64_t number);

/* A connection for calls; waits for one if the driver allows no more. Give it back. */
int ndk_take(struct ndk_session *session, struct ndk_connection **connection);
void ndk_give(struct ndk_connection *connection);

/* Sends a message without an answer; fd: descriptor that goes along, or -1. */
int ndk_tell(struct ndk_connection *connection, const struct ndk_buffer *message, int fd);

/* Sends a call, and returns its answer, which must have this tag; it is valid until the next call. where: for the log.
 * For OUTPUT_INSUFFICIENT_SIZE the answer stands at the shapes. */
int ndk_call(struct ndk_connection *connection, const struct ndk_buffer *message, int fd, enum ndk_tag tag,
             struct ndk_reader *answer, const char *where);

/* The same with up to NDK_MOST_FDS descriptors. */
enum { NDK_MOST_FDS = 3 };
int ndk_call_with(struct ndk_connection *connection, const struct ndk_buffer *message, const int *fds, size_t count,
                  enum ndk_tag tag, struct ndk_reader *answer, const char *where);

/* Makes the arena at least `size` bytes large. */
int ndk_reserve(struct ndk_connection *connection, size_t size);

/* A memfd of `size` bytes that can neither shrink nor grow, or -1. */
int ndk_memfd(size_t size);

#endif
