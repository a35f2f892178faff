/* Connections for calls. Functions return a code of ResultCode. */
#ifndef NDK_CONNECTION_H
#define NDK_CONNECTION_H

#include "packets.h"

struct ndk_session;

/* A connection in use by one thread. arena: memory that both sides map, or NULL; attached: the descriptor that came with
 * the last answer, or -1. */
struct ndk_connection {
    struct ndk_session *session;
    struct ndk_connection *next_idle, *next;
    int fd, attached;
    bool is_broken, is_new_arena;
    uint8_t *arena;
    size_t arena_size;
    uint8_t *large;
    uint8_t packet[NDK_MAX_PACKET];
};

/* A connection for calls; waits for one if the driver allows no more. Give it back. */
int ndk_take(struct ndk_session *session, struct ndk_connection **connection);
void ndk_give(struct ndk_connection *connection);

/* Sends a message, mostly one without an answer; fd: descriptor that goes along, or -1. */
int ndk_tell(struct ndk_connection *connection, const struct ndk_buffer *message, int fd);

/* Sends a call, and returns its answer, which must have this tag; it is valid until the next call. where: for the log.
 * For OUTPUT_INSUFFICIENT_SIZE the answer stands at the shapes. */
int ndk_call(struct ndk_connection *connection, const struct ndk_buffer *message, int fd, enum ndk_tag tag,
             struct ndk_reader *answer, const char *where);

/* The same with up to NDK_MOST_FDS descriptors. */
int ndk_call_with(struct ndk_connection *connection, const struct ndk_buffer *message, const int *fds, size_t count,
                  enum ndk_tag tag, struct ndk_reader *answer, const char *where);

/* The answer to a call that ndk_tell has sent, as ndk_call. */
int ndk_answer(struct ndk_connection *connection, enum ndk_tag tag, struct ndk_reader *answer, const char *where);

/* Makes the arena at least `size` bytes large. */
int ndk_reserve(struct ndk_connection *connection, size_t size);

#endif
