/* Sessions: how one begins, and that there is one. */
#define _GNU_SOURCE
#include "session.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object.h"
#include "session_parts.h"
#include "start.h"

static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ndk_session *current;

static char *copied(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy) {
        if (size)
            memcpy(copy, text, size);
        copy[size] = 0;
    }
    return copy;
}

static void parse_extensions(struct ndk_session *session, struct ndk_reader *reader)
{
    size_t count = ndk_get_array(reader), size;
    session->extensions = calloc(count + 1, sizeof *session->extensions);
    for (size_t i = 0; session->extensions && i < count && !reader->failed; i++) {
        struct ndk_extension *extension = &session->extensions[i];
        ndk_get_array(reader);
        const char *name = ndk_get_text(reader, &size);
        extension->name = copied(name, size);
        size_t types = ndk_get_array(reader);
        extension->types = calloc(types + 1, sizeof *extension->types);
        session->extension_count = i + 1;
        if (!extension->name || !extension->types) {
            reader->failed = true;
            break;
        }
        for (size_t k = 0; k < types && !reader->failed; k++) {
            ndk_get_array(reader);
            extension->types[k].id = (uint16_t)ndk_get_int(reader);
            ndk_skip(reader); /* its name */
            extension->types[k].is_tensor = ndk_get_bool(reader);
            extension->types[k].size = (uint32_t)ndk_get_int(reader);
            extension->count = k + 1;
        }
    }
    reader->failed |= !session->extensions;
}

static bool parse_welcome(struct ndk_session *session, struct ndk_reader *reader)
{
    size_t size;
    ndk_skip(reader); /* version: the same as ours, else the driver had refused */
    session->number = ndk_get_int(reader);
    const uint8_t *key = ndk_get_bytes(reader, &size);
    if (reader->failed || size > sizeof session->key)
        return false;
    memcpy(session->key, key, size);
    session->key_size = size;
    ndk_skip(reader); /* pid */
    const char *driver = ndk_get_text(reader, &size);
    session->driver = copied(driver, size);
    session->num_threads = ndk_get_int(reader);
    ndk_skip(reader); /* precision */
    int64_t most = ndk_get_int(reader);
    session->most = most < 1 ? 1 : most > 1024 ? 1024 : (int)most;
    parse_extensions(session, reader);
    return session->driver && !reader->failed;
}

static void free_session(struct ndk_session *session)
{
    while (session->all) {
        struct ndk_connection *connection = session->all;
        session->all = connection->next;
        ndk_connection_free(connection);
    }
    if (session->events >= 0)
        close(session->events);
    for (size_t i = 0; i < session->extension_count; i++) {
        free(session->extensions[i].name);
        free(session->extensions[i].types);
    }
    free(session->extensions);
    free(session->driver);
    pthread_cond_destroy(&session->given);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

static int open_session(struct ndk_session **result)
{
    uint8_t *packet = malloc(NDK_MAX_PACKET), *large = NULL;
    struct ndk_session *session = calloc(1, sizeof *session);
    struct ndk_reader answer;
    int code = ANEURALNETWORKS_OUT_OF_MEMORY;
    if (session && packet) {
        pthread_mutex_init(&session->lock, NULL);
        pthread_cond_init(&session->given, NULL);
        session->references = 1;
        session->events = -1;
        code = ndk_reach(true, &session->events);
        if (!code)
            code = ndk_hello(session->events, "events", session, NDK_WELCOME, packet, &large, &answer);
        if (!code && !parse_welcome(session, &answer))
            code = ANEURALNETWORKS_DEAD_OBJECT;
        if (code) {
            free_session(session);
            session = NULL;
        }
        *result = session;
    } else {
        free(session);
    }
    free(large);
    free(packet);
    return code;
}

/* -- sessions -------------------------------------------------------------------------------------------------------- */
bool ndk_session_has_gone(struct ndk_session *session)
{
    struct pollfd events = {.fd = session->events, .events = POLLIN};
    /* The driver says nothing on this connection without bursts in rings: whatever there is to read is its end. */
    if (!session->is_dead && poll(&events, 1, 0) > 0)
        session->is_dead = true;
    return session->is_dead;
}

bool ndk_session_is_dead(const struct ndk_session *session)
{
    return session->is_dead;
}

static void before_fork(void)
{
    pthread_mutex_lock(&current_lock);
    if (current)
        pthread_mutex_lock(&current->lock);
}

static void after_fork(void)
{
    if (current)
        pthread_mutex_unlock(&current->lock);
    pthread_mutex_unlock(&current_lock);
}

/* The session is the parent's: the driver accepts messages of the process that connected only. Its objects stay, for
 * the child frees what it holds of them; they are dead. */
static void in_child(void)
{
    if (current) {
        current->is_dead = true;
        int none = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (none >= 0) { /* the descriptors stay taken, so that nobody closes those of others */
            dup3(none, current->events, O_CLOEXEC);
            for (struct ndk_connection *one = current->all; one; one = one->next)
                dup3(none, one->fd, O_CLOEXEC);
            close(none);
        }
    }
    after_fork();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

int ndk_session(struct ndk_session **session)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int code = ANEURALNETWORKS_NO_ERROR;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&current_lock);
    if (current && ndk_session_has_gone(current)) {
        struct ndk_session *old = current;
        current = NULL;
        ndk_session_unref(old);
    }
    if (!current)
        code = open_session(&current);
    *session = current ? ndk_session_ref(current) : NULL;
    pthread_mutex_unlock(&current_lock);
    return code;
}

struct ndk_session *ndk_session_ref(struct ndk_session *session)
{
    session->references++;
    return session;
}

void ndk_session_unref(struct ndk_session *session)
{
    if (session && --session->references == 0)
        free_session(session);
}

const char *ndk_session_driver(const struct ndk_session *session)
{
    return session->driver;
}

int64_t ndk_session_num_threads(const struct ndk_session *session)
{
    return session->num_threads;
}

const struct ndk_extension *ndk_session_extension(const struct ndk_session *session, const char *name)
{
    for (size_t i = 0; i < session->extension_count; i++)
        if (!strcmp(session->extensions[i].name, name))
            return &session->extensions[i];
    return NULL;
}

int64_t ndk_session_number(struct ndk_session *session)
{
    return ++session->last_number;
}
