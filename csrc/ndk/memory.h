/* Memories: files and hardware buffers, whose bytes are looked at only when they are used, and memories of the device,
 * which a client can only copy. */
#ifndef NDK_MEMORY_H
#define NDK_MEMORY_H

#include "object.h"
#include "session.h"

/* Whether a region lies in a memory: BAD_DATA if not, and for memory whose bytes have no place. */
int ndk_memory_check(const ANeuralNetworksMemory *memory, size_t offset, size_t length);

struct ndk_argument;

/* Whether a memory of the device, and the shape that is asked for (rank, dims of `argument`), can be input or output
 * `index` of a compilation; `argument` gets the memory's shape and size then. Others are not asked. */
int ndk_memory_bind(const ANeuralNetworksMemory *memory, const ANeuralNetworksCompilation *compilation, bool is_input,
                    uint32_t index, struct ndk_argument *argument);
bool ndk_is_of_device(const ANeuralNetworksMemory *memory);

/* Whether a memory has a value: memories of the device begin without, and lose it when what writes it fails. */
bool ndk_has_value(const ANeuralNetworksMemory *memory);
void ndk_set_value(const ANeuralNetworksMemory *memory, bool has_value);

/* Copies bytes of a region that was checked; UNMAPPABLE if the file has none there. */
int ndk_memory_read(const ANeuralNetworksMemory *memory, size_t offset, void *target, size_t length);

/* A number that no other memory of this process has, or will have. */
uint64_t ndk_memory_serial(const ANeuralNetworksMemory *memory);

/* Whether its bytes have an order that the driver can be told of. */
bool ndk_memory_is_plain(const ANeuralNetworksMemory *memory);

/* Writes the record of a memory (SharedMemory); returns the descriptor that goes along, which stays the memory's. */
int ndk_memory_describe(const ANeuralNetworksMemory *memory, struct ndk_buffer *message);

/* The number of the memory in the session of a connection, which introduces it to the driver if it is new there. */
int ndk_memory_number(ANeuralNetworksMemory *memory, struct ndk_connection *connection, int64_t *number);

#endif
