/* Memories. Those of the device are host memory with the rules of the device's: roles, shapes and whether there is a
 * value. */
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "desc.h"
#include "ends.h"
#include "execution.h"
#include "hardware_buffer.h"
#include "release.h"

enum { COPY_BYTES = 1 << 16 };

/* is_opaque: a hardware buffer whose bytes have no order that a client could name. roles: of a memory of the device,
 * which has an operand's type and this shape; has_value: there is something in it. session, number: where the driver
 * knows it, and as what. lock: of has_value, session and number. */
struct ANeuralNetworksMemory {
    int fd;
    bool is_opaque, has_value;
    struct ndk_role *roles;
    uint32_t role_count, rank, *dims;
    const struct ndk_operand *operand;
    int protect;
    size_t size, offset;
    pthread_mutex_t lock;
    struct ndk_session *session;
    int64_t number;
    uint64_t serial;
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
    made->has_value = true;
    made->serial = ndk_serial();
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

/* A memory of the device, once its size is known: of how many bytes a value of an unknown shape will be nobody can say. */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc, ANeuralNetworksMemory **memory)
{
    if (memory)
        *memory = NULL;
    if (!desc || !memory)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (!desc->is_finished)
        return ANEURALNETWORKS_BAD_STATE;
    uint64_t size = ndk_bytes(desc->operand->type, desc->rank, desc->dims);
    if (!size || size == UINT64_MAX)
        return ANEURALNETWORKS_OP_FAILED;
    int fd = ndk_memfd((size_t)size);
    int code = create(fd, PROT_READ | PROT_WRITE, (size_t)size, 0, false, memory);
    if (fd >= 0)
        close(fd);
    if (code)
        return code;
    ANeuralNetworksMemory *made = *memory;
    made->has_value = false;
    made->operand = desc->operand;
    made->role_count = desc->role_count;
    made->rank = desc->rank;
    made->roles = malloc(desc->role_count * sizeof *made->roles);
    made->dims = malloc((desc->rank + (size_t)1) * sizeof *made->dims);
    if (!made->roles || !made->dims) {
        ANeuralNetworksMemory_free(made);
        *memory = NULL;
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    }
    memcpy(made->roles, desc->roles, desc->role_count * sizeof *made->roles);
    if (desc->rank)
        memcpy(made->dims, desc->dims, desc->rank * sizeof *made->dims);
    return code;
}

void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory)
{
    if (!memory)
        return;
    ndk_say_end(memory->serial);
    if (memory->session) {
        ndk_session_release(memory->session, "memory", memory->number);
        ndk_session_unref(memory->session);
    }
    pthread_mutex_destroy(&memory->lock);
    close(memory->fd);
    free(memory->roles);
    free(memory->dims);
    free(memory);
}

int ndk_memory_check(const ANeuralNetworksMemory *memory, size_t offset, size_t length)
{
    bool is_inside = length <= memory->size && offset <= memory->size - length && (offset || length);
    return is_inside && !memory->is_opaque && !memory->roles ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
}

/* -- of the device --------------------------------------------------------------------------------------------------- */
bool ndk_is_of_device(const ANeuralNetworksMemory *memory)
{
    return memory->roles != NULL;
}

int ndk_memory_bind(const ANeuralNetworksMemory *memory, const ANeuralNetworksCompilation *compilation, bool is_input,
                    uint32_t index, struct ndk_argument *argument)
{
    uint32_t i = 0;
    while (i < memory->role_count && (memory->roles[i].compilation != compilation ||
                                      memory->roles[i].is_input != is_input || memory->roles[i].index != index))
        i++;
    if (i == memory->role_count || argument->offset || argument->length ||
        !ndk_can_join(memory->rank, memory->dims, argument->rank, argument->dims))
        return ANEURALNETWORKS_BAD_DATA;
    uint32_t *dims = memory->rank ? malloc(memory->rank * sizeof *dims) : NULL;
    if (memory->rank && !dims)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (dims)
        memcpy(dims, memory->dims, memory->rank * sizeof *dims);
    free(argument->dims);
    argument->dims = dims;
    argument->rank = memory->rank;
    argument->has_dims = memory->rank > 0;
    argument->size = argument->length = memory->size;
    return ANEURALNETWORKS_NO_ERROR;
}

bool ndk_has_value(const ANeuralNetworksMemory *memory)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&memory->lock;
    pthread_mutex_lock(lock);
    bool has_value = memory->has_value;
    pthread_mutex_unlock(lock);
    return has_value;
}

void ndk_set_value(const ANeuralNetworksMemory *memory, bool has_value)
{
    ANeuralNetworksMemory *changed = (ANeuralNetworksMemory *)(uintptr_t)memory;
    if (!memory->roles)
        return;
    pthread_mutex_lock(&changed->lock);
    changed->has_value = has_value;
    pthread_mutex_unlock(&changed->lock);
}

/* Whether the value of one memory can be that of another. */
static bool fits(const ANeuralNetworksMemory *from, const ANeuralNetworksMemory *to)
{
    if (from->size != to->size)
        return false;
    return !from->roles || !to->roles ||
           (ndk_is_alike(from->operand, to->operand) && from->rank == to->rank &&
            ndk_can_join(from->rank, from->dims, to->rank, to->dims));
}

static int write_bytes(const ANeuralNetworksMemory *memory, size_t offset, const char *bytes, size_t length)
{
    if (!(memory->protect & PROT_WRITE) || memory->offset > INT64_MAX || offset > INT64_MAX - memory->offset)
        return ANEURALNETWORKS_UNMAPPABLE;
    for (off_t place = (off_t)(memory->offset + offset); length;) {
        ssize_t done = pwrite(memory->fd, bytes, length, place);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return ANEURALNETWORKS_UNMAPPABLE;
        bytes += done;
        place += done;
        length -= (size_t)done;
    }
    return ANEURALNETWORKS_NO_ERROR;
}

static int copy(const ANeuralNetworksMemory *from, const ANeuralNetworksMemory *to)
{
    if (!ndk_has_value(from))
        return ANEURALNETWORKS_BAD_DATA;
    if (from->is_opaque || to->is_opaque)
        return ANEURALNETWORKS_UNMAPPABLE;
    if (!fits(from, to))
        return ANEURALNETWORKS_BAD_DATA;
    char *bytes = malloc(COPY_BYTES);
    int code = bytes ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
    for (size_t done = 0; done < from->size && !code;) {
        size_t part = from->size - done < COPY_BYTES ? from->size - done : COPY_BYTES;
        code = ndk_memory_read(from, done, bytes, part);
        if (!code)
            code = write_bytes(to, done, bytes, part);
        done += part;
    }
    free(bytes);
    return code;
}

int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src, const ANeuralNetworksMemory *dst)
{
    if (!src || !dst)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (src == dst)
        return ANEURALNETWORKS_NO_ERROR;
    int code = copy(src, dst);
    ndk_set_value(dst, code == ANEURALNETWORKS_NO_ERROR);
    return code;
}

/* -- in the driver --------------------------------------------------------------------------------------------------- */
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

uint64_t ndk_memory_serial(const ANeuralNetworksMemory *memory)
{
    return memory->serial;
}

bool ndk_memory_is_plain(const ANeuralNetworksMemory *memory)
{
    return !memory->is_opaque;
}

int ndk_memory_describe(const ANeuralNetworksMemory *memory, struct ndk_buffer *message)
{
    ndk_put_array(message, 4);
    ndk_put_text(message, "mmap_fd");
    ndk_put_int(message, (int64_t)memory->size);
    ndk_put_int(message, memory->protect);
    ndk_put_int(message, (int64_t)memory->offset);
    return memory->fd;
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
