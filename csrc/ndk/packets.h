/* Messages as packets of a socket, with the descriptors that go along [docs/protocol.md, Packets]. */
#ifndef NDK_PACKETS_H
#define NDK_PACKETS_H

#include "msgpack.h"
#include "protocol.h"

enum { NDK_MOST_FDS = 16 }; /* of a message, besides its own memfd */

/* Sends a message; 0 or an errno. */
int ndk_send(int socket, const struct ndk_buffer *message, const int *fds, size_t count);

/* Receives a packet into `packet` (NDK_MAX_PACKET bytes), or into *large, which is the caller's to free; 0 or an errno,
 * EPIPE at the end of the stream. attached: a descriptor that came along, which the caller closes, or -1. */
int ndk_receive(int socket, uint8_t *packet, uint8_t **large, int *attached, struct ndk_reader *reader);

/* A memfd of `size` bytes that can neither shrink nor grow, or -1. */
int ndk_memfd(size_t size);

#endif
