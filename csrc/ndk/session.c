#define _GNU_SOURCE
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "object.h"
#include "start.h"

enum { MAX_FDS = 253, MAX_LARGE = 1 << 26, LARGE_BYTES = 9, LARGE_MARK = 0xc1, SMALLEST_ARENA = 1 << 16 };

struct ndk_session {
    atomic_int references;
    pthread_mutex_t lock;
    pthread_cond_t given;
    atomic_bool is_dead;
    int events;
    int64_t number;
    uint8_t key[64];
    size_t key_size;
    char *driver;
    int most, count; /* connections */
    struct ndk_connection *idle, *all;
    atomic_llong last_number;
    struct ndk_extension *extensions;
    size_t extension_count;
};

static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ndk_session *current;

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

/* -- packets --------------------------------------------------------------------------------------------------------- */
static int send_packet(int socket, const void *data, size_t size, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE((NDK_MOST_FDS + 1) * sizeof(int))]; /* and the memfd of a large message */
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

int ndk_memfd(size_t size)
{
    int fd = memfd_create("nnfast", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (size > INT64_MAX || ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int send_message(int socket, const struct ndk_buffer *message, const int *given, size_t count)
{
    int fds[NDK_MOST_FDS + 1];
    for (size_t i = 0; i < count; i++)
        fds[i] = given[i];
    if (message->failed)
        return ENOMEM;
    if (message->size <= NDK_MAX_PACKET)
        return send_packet(socket, message->data, message->size, fds, count);
    if (message->size > NDK_MAX_CALL)
        return EMSGSIZE;
    int memory = ndk_memfd(message->size);
    if (memory < 0)
        return ENOMEM;
    uint8_t mark[LARGE_BYTES] = {LARGE_MARK};
    for (int i = 0; i < 8; i++)
        mark[1 + i] = (uint8_t)((uint64_t)message->size >> (8 * i));
    int error = pwrite(memory, message->data, message->size, 0) == (ssize_t)message->size ? 0 : ENOMEM;
    if (!error && fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL))
        error = errno;
    fds[count] = memory;
    if (!error)
        error = send_packet(socket, mark, sizeof mark, fds, count + 1);
    close(memory);
    return error;
}

/* The bytes of a message in a memfd; NULL if it is none. */
static uint8_t *read_large(const uint8_t *mark, int fd, size_t *size)
{
    enum { FROZEN = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };
    uint64_t length = 0;
    struct stat found;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | mark[1 + i];
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & FROZEN) != FROZEN || fstat(fd, &found) || !length || length > MAX_LARGE ||
        (uint64_t)found.st_size != length)
        return NULL;
    uint8_t *data = malloc((size_t)length);
    for (size_t done = 0; data && done < length;) {
        ssize_t got = pread(fd, data + done, (size_t)length - done, (off_t)done);
        if (got <= 0) {
            free(data);
            return NULL;
        }
        done += (size_t)got;
    }
    *size = (size_t)length;
    return data;
}

/* Receives a packet into `packet`, or into *large; returns 0 or an errno, EPIPE at the end of the stream. No answer
 * that this client asks for has descriptors of its own. */
static int receive(int socket, uint8_t *packet, uint8_t **large, struct ndk_reader *reader)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
    } control;
    struct iovec part = {packet, NDK_MAX_PACKET};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    int last = -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            if (last >= 0)
                close(last);
            memcpy(&last, CMSG_DATA(header) + at, sizeof(int));
        }
    }
    int error = got == 0 ? EPIPE : message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? EBADMSG : 0;
    *reader = (struct ndk_reader){packet, packet + (got > 0 ? got : 0), false};
    if (!error && packet[0] == LARGE_MARK) {
        size_t size = 0;
        free(*large);
        *large = got == LARGE_BYTES && last >= 0 ? read_large(packet, last, &size) : NULL;
        *reader = (struct ndk_reader){*large, *large + size, false};
        error = *large ? 0 : EBADMSG;
    }
    if (last >= 0)
        close(last);
    return error;
}

/* -- connecting ------------------------------------------------------------------------------------------------------ */
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

/* Says hello on a new connection in a role; the answer must have the tag. */
static int hello(int socket, const char *role, const struct ndk_session *session, enum ndk_tag tag, uint8_t *packet,
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
    int error = send_message(socket, &message, NULL, 0);
    ndk_buffer_free(&message);
    if (!error)
        error = receive(socket, packet, large, answer);
    if (error == ENOMEM)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (error)
        return ANEURALNETWORKS_DEAD_OBJECT;
    ndk_get_array(answer);
    int64_t found = ndk_get_int(answer);
    if (found == NDK_FAILURE)
        return parse_failure(answer, "connect");
    return answer->failed || found != (int64_t)tag ? ANEURALNETWORKS_DEAD_OBJECT : ANEURALNETWORKS_NO_ERROR;
}

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
    ndk_skip(reader); /* num_threads */
    ndk_skip(reader); /* precision */
    int64_t most = ndk_get_int(reader);
    session->most = most < 1 ? 1 : most > 1024 ? 1024 : (int)most;
    parse_extensions(session, reader);
    return session->driver && !reader->failed;
}

static void free_connection(struct ndk_connection *connection)
{
    close(connection->fd);
    if (connection->arena)
        munmap(connection->arena, connection->arena_size);
    free(connection->large);
    free(connection);
}

static void free_session(struct ndk_session *session)
{
    while (session->all) {
        struct ndk_connection *connection = session->all;
        session->all = connection->next;
        free_connection(connection);
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
            code = hello(session->events, "events", session, NDK_WELCOME, packet, &large, &answer);
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

void ndk_session_release(struct ndk_session *session, const char *kind, int64_t number)
{
    struct ndk_buffer message = {0};
    ndk_put_array(&message, 2);
    ndk_put_int(&message, NDK_RELEASE);
    ndk_put_array(&message, 1);
    ndk_put_array(&message, 2);
    ndk_put_text(&message, kind);
    ndk_put_int(&message, number);
    if (!session->is_dead)
        send_message(session->events, &message, NULL, 0); /* a driver that does not get it has gone, with all it held */
    ndk_buffer_free(&message);
}

/* -- connections ----------------------------------------------------------------------------------------------------- */
static int open_connection(struct ndk_session *session, struct ndk_connection **result)
{
    struct ndk_connection *connection = calloc(1, sizeof *connection);
    struct ndk_reader answer;
    if (!connection)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    connection->session = session;
    int code = ndk_reach(false, &connection->fd);
    if (code) {
        free(connection);
        return code == ANEURALNETWORKS_OUT_OF_MEMORY ? code : ANEURALNETWORKS_DEAD_OBJECT;
    }
    code = hello(connection->fd, "calls", session, NDK_DONE, connection->packet, &connection->large, &answer);
    if (code == ANEURALNETWORKS_UNAVAILABLE_DEVICE) /* another driver serves there now */
        code = ANEURALNETWORKS_DEAD_OBJECT;
    if (code) {
        free_connection(connection);
        return code;
    }
    *result = connection;
    return code;
}

int ndk_take(struct ndk_session *session, struct ndk_connection **connection)
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
        free_connection(connection);
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
    int error = connection->session->is_dead ? EPIPE : send_message(connection->fd, message, fds, count);
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
    if (code)
        return code;
    int error = receive(connection->fd, connection->packet, &connection->large, answer);
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
