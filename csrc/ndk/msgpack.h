/* The part of MessagePack that the driver's protocol uses (docs/protocol.md): written into a growing buffer, and read
 * from bytes of a peer that may be anything. */
#ifndef NDK_MSGPACK_H
#define NDK_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow. failed: there was no memory for some of them; further ones are ignored. */
struct ndk_buffer {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

void ndk_put_array(struct ndk_buffer *buffer, size_t count);
void ndk_put_int(struct ndk_buffer *buffer, int64_t value);
void ndk_put_double(struct ndk_buffer *buffer, double value);
void ndk_put_bool(struct ndk_buffer *buffer, bool value);
void ndk_put_nil(struct ndk_buffer *buffer);
void ndk_put_text(struct ndk_buffer *buffer, const char *text);
void ndk_put_bytes(struct ndk_buffer *buffer, const void *bytes, size_t size);
void ndk_buffer_free(struct ndk_buffer *buffer);

/* A place in received bytes. failed: something else was there than what was asked for; every value is 0 from then on. */
struct ndk_reader {
    const uint8_t *at, *end;
    bool failed;
};

/* Number of elements, never more than there are bytes left. */
size_t ndk_get_array(struct ndk_reader *reader);
int64_t ndk_get_int(struct ndk_reader *reader);
double ndk_get_double(struct ndk_reader *reader);
bool ndk_get_bool(struct ndk_reader *reader);

/* True, and one nil further, if there is one. */
bool ndk_get_nil(struct ndk_reader *reader);

/* The bytes of a text or of binary data, within those that are read. */
const char *ndk_get_text(struct ndk_reader *reader, size_t *size);
const uint8_t *ndk_get_bytes(struct ndk_reader *reader, size_t *size);

/* Passes over one value with all that it holds. */
void ndk_skip(struct ndk_reader *reader);

#endif
