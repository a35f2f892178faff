/* What session.c, connection.c and release.c know of a session. */
#ifndef NDK_SESSION_PARTS_H
#define NDK_SESSION_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "session.h"

enum { NDK_MOST_RELEASED = 32 };

/* lock: of the connections, and of `released`: prepared models whose release the driver is not told of yet. events: the
 * socket that the session lives as long as. most: connections that the driver allows. */
struct ndk_session {
    atomic_int references;
    pthread_mutex_t lock;
    pthread_cond_t given;
    atomic_bool is_dead;
    int events;
    int64_t number, num_threads, released[NDK_MOST_RELEASED];
    size_t released_count;
    uint8_t key[64];
    size_t key_size;
    char *driver;
    int most, count; /* connections */
    struct ndk_connection *idle, *all;
    atomic_llong last_number;
    struct ndk_extension *extensions;
    size_t extension_count;
};

/* Says hello on a new connection in a role; the answer must have the tag. */
int ndk_hello(int socket, const char *role, const struct ndk_session *session, enum ndk_tag tag, uint8_t *packet,
              uint8_t **large, struct ndk_reader *answer);

void ndk_connection_free(struct ndk_connection *connection);

#endif
