/* Connections, and the calls on them. */
#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "object.h"
#include "release.h"
#include "session_parts.h"
#include "start.h"

enum { SMALLEST_ARENA = 1 << 16 };

static int failure_code(int64_t status)
{
    switch (status) {
    case NDK_DEVICE_UNAVAILABLE: return ANEURALNETWORKS_UNAVAILABLE_DEVICE;
    case NDK_OUTPUT_INSUFFICIENT_SIZE: return ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
    case NDK_INVALID_ARGUMENT: return ANEURALNETWORKS_BAD_DATA;
    case NDK_MISSED_DEADLINE_TRANSIENT: return ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT;
    case NDK_MISSED_DEADLINE_PERSISTENT: return ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT;
    case NDK_RESOURCE_EXHAUSTED_TRANSIENT: return ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT;
    case NDK_RESOURCE_EXHAUSTED_PERSISTENT: return ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT;
    default: return ANEURALNETWORKS_OP_FAILED;
    }
}

static int parse_failure(struct ndk_reader *reader, const char *where)
{
    size_t size;
    int code = failure_code(ndk_get_int(reader));
    const char *text = ndk_get_text(reader, &size);
    if (reader->failed)
        return ANEURALNETWORKS_OP_FAILED;
    ndk_log(where, text, size);
    return code;
}

int ndk_hello(int socket, const char *role, const struct ndk_session *session, enum ndk_tag tag, uint8_t *packet,
              uint8_t **large, struct ndk_reader *answer)
{
    struct ndk_buffer message = {0};
    ndk_put_array(&message, 6);
    ndk_put_text(&message, NDK_MAGIC);
    ndk_put_int(&message, NDK_VERSION);
    ndk_put_text(&message, role);
    ndk_put_int(&message, session->number);
    ndk_put_bytes(&message, session->key, session->key_size);
    ndk_put_nil(&message);
    int error = ndk_send(socket, &message, NULL, 0);
    ndk_buffer_free(&message);
    int attached = -1;
    if (!error)
        error = ndk_receive(socket, packet, large, &attached, answer);
    if (attached >= 0)
        close(attached);
    if (error == ENOMEM)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (error)
        return ANEURALNETWORKS_DEAD_OBJECT;
    ndk_get_array(answer);
    int64_t found = ndk_get_int(answer);
    if (found == NDK_FAILURE) { /* a driver of another version is none */
        int code = parse_failure(answer, "connect");
        return code == ANEURALNETWORKS_BAD_DATA ? ANEURALNETWORKS_UNAVAILABLE_DEVICE : code;
    }
    return answer->failed || found != (int64_t)tag ? ANEURALNETWORKS_DEAD_OBJECT : ANEURALNETWORKS_NO_ERROR;
}

void ndk_connection_free(struct ndk_connection *connection)
{
    close(connection->fd);
    if (connection->attached >= 0)
        close(connection->attached);
    if (connection->arena)
        munmap(connection->arena, connection->arena_size);
    free(connection->large);
    free(connection);
}

static int open_connection(struct ndk_session *session, struct ndk_connection **result)
{
    struct ndk_connection *connection = calloc(1, sizeof *connection);
    struct ndk_reader answer;
    if (!connection)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    connection->session = session;
    connection->attached = -1;
    int code = ndk_reach(false, &connection->fd);
    if (code) {
        free(connection);
        return code == ANEURALNETWORKS_OUT_OF_MEMORY ? code : ANEURALNETWORKS_DEAD_OBJECT;
    }
    code = ndk_hello(connection->fd, "calls", session, NDK_DONE, connection->packet, &connection->large, &answer);
    if (code == ANEURALNETWORKS_UNAVAILABLE_DEVICE) /* another driver serves there now */
        code = ANEURALNETWORKS_DEAD_OBJECT;
    if (code) {
        ndk_connection_free(connection);
        return code;
    }
    *result = connection;
    return code;
}

/* Tells the driver what was released since the last call. */
static void tell_released(struct ndk_connection *connection)
{
    struct ndk_buffer message = {0};
    pthread_mutex_lock(&connection->session->lock);
    ndk_session_put_released(connection->session, &message);
    pthread_mutex_unlock(&connection->session->lock);
    if (message.size)
        ndk_tell(connection, &message, -1); /* if it fails, so does the call */
    ndk_buffer_free(&message);
}

static int take(struct ndk_session *session, struct ndk_connection **connection)
{
    int code = ANEURALNETWORKS_NO_ERROR;
    *connection = NULL;
    pthread_mutex_lock(&session->lock);
    while (!session->is_dead && !session->idle && session->count >= session->most)
        pthread_cond_wait(&session->given, &session->lock);
    if (session->is_dead) {
        code = ANEURALNETWORKS_DEAD_OBJECT;
    } else if (session->idle) {
        *connection = session->idle;
        session->idle = (*connection)->next_idle;
    } else {
        session->count++;
    }
    pthread_mutex_unlock(&session->lock);
    if (code || *connection)
        return code;
    code = open_connection(session, connection);
    pthread_mutex_lock(&session->lock);
    if (code) {
        session->count--;
        session->is_dead |= code == ANEURALNETWORKS_DEAD_OBJECT;
        pthread_cond_broadcast(&session->given);
    } else {
        (*connection)->next = session->all;
        session->all = *connection;
    }
    pthread_mutex_unlock(&session->lock);
    return code;
}

int ndk_take(struct ndk_session *session, struct ndk_connection **connection)
{
    int code = take(session, connection);
    if (!code)
        tell_released(*connection);
    return code;
}

void ndk_give(struct ndk_connection *connection)
{
    struct ndk_session *session = connection->session;
    pthread_mutex_lock(&session->lock);
    if (connection->is_broken) {
        struct ndk_connection **link = &session->all;
        while (*link != connection)
            link = &(*link)->next;
        *link = connection->next;
        session->count--;
        ndk_connection_free(connection);
    } else {
        connection->next_idle = session->idle;
        session->idle = connection;
    }
    pthread_cond_broadcast(&session->given);
    pthread_mutex_unlock(&session->lock);
}

/* Code of a message that could not be sent or received. */
static int broken(struct ndk_connection *connection, int error)
{
    if (error == ENOMEM)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (error == EMSGSIZE)
        return ANEURALNETWORKS_BAD_DATA;
    if (error == ETOOMANYREFS || error == ENOBUFS)
        return ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT;
    connection->is_broken = true;
    connection->session->is_dead = true;
    return ANEURALNETWORKS_DEAD_OBJECT;
}

static int tell(struct ndk_connection *connection, const struct ndk_buffer *message, const int *fds, size_t count)
{
    int error = connection->session->is_dead ? EPIPE : ndk_send(connection->fd, message, fds, count);
    return error ? broken(connection, error) : ANEURALNETWORKS_NO_ERROR;
}

int ndk_tell(struct ndk_connection *connection, const struct ndk_buffer *message, int fd)
{
    return tell(connection, message, &fd, fd >= 0);
}

/* A new arena whose first call failed may be the reason: the next call gets another. */
static void settle(struct ndk_connection *connection, bool worked)
{
    if (connection->is_new_arena && !worked) {
        munmap(connection->arena, connection->arena_size);
        connection->arena = NULL;
        connection->arena_size = 0;
    }
    connection->is_new_arena = false;
}

int ndk_call(struct ndk_connection *connection, const struct ndk_buffer *message, int fd, enum ndk_tag tag,
             struct ndk_reader *answer, const char *where)
{
    return ndk_call_with(connection, message, &fd, fd >= 0, tag, answer, where);
}

int ndk_call_with(struct ndk_connection *connection, const struct ndk_buffer *message, const int *fds, size_t count,
                  enum ndk_tag tag, struct ndk_reader *answer, const char *where)
{
    int code = tell(connection, message, fds, count);
    return code ? code : ndk_answer(connection, tag, answer, where);
}

int ndk_answer(struct ndk_connection *connection, enum ndk_tag tag, struct ndk_reader *answer, const char *where)
{
    if (connection->attached >= 0)
        close(connection->attached);
    int error = ndk_receive(connection->fd, connection->packet, &connection->large, &connection->attached, answer);
    if (error) {
        connection->is_broken = true; /* whatever the reason: the next answer would be the one to this call */
        return broken(connection, error);
    }
    ndk_get_array(answer);
    int64_t found = ndk_get_int(answer);
    settle(connection, found == (int64_t)tag);
    if (found == NDK_FAILURE)
        return parse_failure(answer, where);
    return answer->failed || found != (int64_t)tag ? broken(connection, EBADMSG) : ANEURALNETWORKS_NO_ERROR;
}

int ndk_reserve(struct ndk_connection *connection, size_t size)
{
    if (size <= connection->arena_size)
        return ANEURALNETWORKS_NO_ERROR;
    size_t room = SMALLEST_ARENA;
    while (room < size && room <= SIZE_MAX / 4)
        room *= 2;
    int fd = room < size ? -1 : ndk_memfd(room);
    if (fd < 0)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    uint8_t *arena = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int code = arena == MAP_FAILED ? ANEURALNETWORKS_OUT_OF_MEMORY : ANEURALNETWORKS_NO_ERROR;
    if (!code) {
        struct ndk_buffer message = {0};
        ndk_put_array(&message, 2);
        ndk_put_int(&message, NDK_ARENA);
        ndk_put_int(&message, (int64_t)room);
        code = ndk_tell(connection, &message, fd);
        ndk_buffer_free(&message);
        if (code) {
            munmap(arena, room);
        } else {
            if (connection->arena)
                munmap(connection->arena, connection->arena_size);
            connection->arena = arena;
            connection->arena_size = room;
            connection->is_new_arena = true;
        }
    }
    close(fd);
    return code;
}
