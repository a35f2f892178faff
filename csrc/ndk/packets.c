#define _GNU_SOURCE
#include "packets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FDS = 253, MAX_LARGE = 1 << 26, LARGE_BYTES = 9, LARGE_MARK = 0xc1 };

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

int ndk_send(int socket, const struct ndk_buffer *message, const int *given, size_t count)
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

int ndk_receive(int socket, uint8_t *packet, uint8_t **large, int *attached, struct ndk_reader *reader)
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
    *attached = -1;
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
    *attached = error || packet[0] == LARGE_MARK ? -1 : last;
    if (last >= 0 && *attached < 0)
        close(last);
    return error;
}
