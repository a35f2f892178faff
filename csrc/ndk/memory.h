/* Memories: files and hardware buffers, whose bytes are looked at only when they are used. */
#ifndef NDK_MEMORY_H
#define NDK_MEMORY_H

#include "object.h"
#include "session.h"

/* Whether a region lies in a memory: BAD_DATA if not, and for memory whose bytes have no place. */
int ndk_memory_check(const ANeuralNetworksMemory *memory, size_t offset, size_t length);

/* Copies bytes of a region that was checked; UNMAPPABLE if the file has none there. */
int ndk_memory_read(const ANeuralNetworksMemory *memory, size_t offset, void *target, size_t length);

/* The number of the memory in the session of a connection, which introduces it to the driver if it is new there. */
int ndk_memory_number(ANeuralNetworksMemory *memory, struct ndk_connection *connection, int64_t *number);

#endif
