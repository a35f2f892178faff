/* Memories. */
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hardware_buffer.h"

/* is_opaque: a hardware buffer whose bytes have no order that a client could name. session, number: where the driver
 * knows it, and as what. */
struct ANeuralNetworksMemory {
    int fd;
    bool is_opaque;
    int protect;
    size_t size, offset;
    pthread_mutex_t lock;
    struct ndk_session *session;
    int64_t number;
};

static int create(int fd, int protect, size_t size, size_t offset, bool is_opaque, ANeuralNetworksMemory **memory)
{
    ANeuralNetworksMemory *made = calloc(1, sizeof *made);
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    made->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0 || made->fd < 0) {
        free(made);
        return ANEURALNETWORKS_OP_FAILED;
    }
    made->protect = protect;
    made->size = size;
    made->offset = offset;
    made->is_opaque = is_opaque;
    pthread_mutex_init(&made->lock, NULL);
    *memory = made;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory **memory)
{
    if (!memory)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *memory = NULL;
    return create(fd, protect, size, offset, false, memory);
}

int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb, ANeuralNetworksMemory **memory)
{
    AHardwareBuffer_Desc desc;
    if (!memory)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *memory = NULL;
    if (!ahwb)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    AHardwareBuffer_describe(ahwb, &desc);
    return create(ndk_buffer_fd(ahwb), PROT_READ | PROT_WRITE, desc.width, 0,
                  desc.format != AHARDWAREBUFFER_FORMAT_BLOB, memory);
}

void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory)
{
    if (!memory)
        return;
    if (memory->session) {
        ndk_session_release(memory->session, "memory", memory->number);
        ndk_session_unref(memory->session);
    }
    pthread_mutex_destroy(&memory->lock);
    close(memory->fd);
    free(memory);
}

int ndk_memory_check(const ANeuralNetworksMemory *memory, size_t offset, size_t length)
{
    bool is_inside = length <= memory->size && offset <= memory->size - length && (offset || length);
    return is_inside && !memory->is_opaque ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
}

int ndk_memory_read(const ANeuralNetworksMemory *memory, size_t offset, void *target, size_t length)
{
    char *at = target;
    /* Beyond what a file offset can say there is no byte. */
    if (memory->offset > INT64_MAX || offset > INT64_MAX - memory->offset)
        return ANEURALNETWORKS_UNMAPPABLE;
    for (off_t place = (off_t)(memory->offset + offset); length;) {
        ssize_t got = pread(memory->fd, at, length, place);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ANEURALNETWORKS_UNMAPPABLE;
        at += got;
        place += got;
        length -= (size_t)got;
    }
    return ANEURALNETWORKS_NO_ERROR;
}

static int introduce(ANeuralNetworksMemory *memory, struct ndk_connection *connection)
{
    int64_t number = ndk_session_number(connection->session);
    struct ndk_buffer message = {0}, ping = {0};
    struct ndk_reader answer;
    ndk_put_array(&message, 6);
    ndk_put_int(&message, NDK_ADD_MEMORY);
    ndk_put_int(&message, number);
    ndk_put_text(&message, "mmap_fd");
    ndk_put_int(&message, (int64_t)memory->size);
    ndk_put_int(&message, memory->protect);
    ndk_put_int(&message, (int64_t)memory->offset);
    int code = ndk_tell(connection, &message, memory->fd);
    ndk_buffer_free(&message);
    if (code)
        return code;
    /* Its answer is the error of the message before it, if there is one; and other connections may name the memory. */
    ndk_put_array(&ping, 1);
    ndk_put_int(&ping, NDK_PING);
    code = ndk_call(connection, &ping, -1, NDK_DONE, &answer, "memory");
    ndk_buffer_free(&ping);
    if (code)
        return code == ANEURALNETWORKS_BAD_DATA || code == ANEURALNETWORKS_OP_FAILED ? ANEURALNETWORKS_UNMAPPABLE : code;
    if (memory->session) /* one whose driver has gone */
        ndk_session_unref(memory->session);
    memory->session = ndk_session_ref(connection->session);
    memory->number = number;
    return code;
}

int ndk_memory_number(ANeuralNetworksMemory *memory, struct ndk_connection *connection, int64_t *number)
{
    if (memory->is_opaque)
        return ANEURALNETWORKS_UNMAPPABLE;
    pthread_mutex_lock(&memory->lock);
    int code = memory->session == connection->session ? ANEURALNETWORKS_NO_ERROR : introduce(memory, connection);
    *number = memory->number;
    pthread_mutex_unlock(&memory->lock);
    return code;
}
