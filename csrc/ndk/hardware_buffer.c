/* AHardwareBuffer and ASharedMemory, which programs for Android take from its platform. */
#define _GNU_SOURCE
#include "hardware_buffer.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session.h"

enum { PIXEL_BYTES = 4 };

struct AHardwareBuffer {
    atomic_int references;
    AHardwareBuffer_Desc desc;
    int fd;
    size_t size;
    void *bytes;
};

int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **outBuffer)
{
    if (!desc || !outBuffer)
        return -EINVAL;
    *outBuffer = NULL;
    bool is_blob = desc->format == AHARDWAREBUFFER_FORMAT_BLOB;
    uint64_t size = desc->width;
    if (is_blob ? desc->height != 1 || desc->layers != 1
                : __builtin_mul_overflow(size * desc->height, (uint64_t)desc->layers * PIXEL_BYTES, &size))
        return -EINVAL;
    if (!size || size > INT64_MAX)
        return -EINVAL;
    AHardwareBuffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return -ENOMEM;
    buffer->references = 1;
    buffer->desc = *desc;
    buffer->desc.stride = is_blob ? 0 : desc->width;
    buffer->size = (size_t)size;
    buffer->fd = ndk_memfd(buffer->size);
    buffer->bytes = buffer->fd < 0 ? MAP_FAILED
                                   : mmap(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd, 0);
    if (buffer->bytes == MAP_FAILED) {
        if (buffer->fd >= 0)
            close(buffer->fd);
        free(buffer);
        return -ENOMEM;
    }
    *outBuffer = buffer;
    return 0;
}

void AHardwareBuffer_acquire(AHardwareBuffer *buffer)
{
    buffer->references++;
}

void AHardwareBuffer_release(AHardwareBuffer *buffer)
{
    if (--buffer->references)
        return;
    munmap(buffer->bytes, buffer->size);
    close(buffer->fd);
    free(buffer);
}

void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc)
{
    *outDesc = buffer->desc;
}

int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect,
                         void **outVirtualAddress)
{
    (void)rect;
    if (fence >= 0) {
        struct pollfd wait = {.fd = fence, .events = POLLIN};
        int ready;
        do
            ready = poll(&wait, 1, -1);
        while (ready < 0 && (errno == EINTR || errno == EAGAIN));
        close(fence);
    }
    if (!buffer || !outVirtualAddress ||
        !(usage & (AHARDWAREBUFFER_USAGE_CPU_READ_MASK | AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK)))
        return -EINVAL;
    *outVirtualAddress = buffer->bytes;
    return 0;
}

int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence)
{
    if (fence)
        *fence = -1;
    return buffer ? 0 : -EINVAL;
}

int ndk_buffer_fd(const AHardwareBuffer *buffer)
{
    return buffer->fd;
}

int ASharedMemory_create(const char *name, size_t size)
{
    (void)name; /* of use in a list of mappings only */
    if (!size) {
        errno = EINVAL;
        return -1;
    }
    return ndk_memfd(size);
}
