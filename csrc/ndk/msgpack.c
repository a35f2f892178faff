#include "msgpack.h"

#include <stdlib.h>
#include <string.h>

/* -- writing --------------------------------------------------------------------------------------------------------- */
static uint8_t *room_for(struct ndk_buffer *buffer, size_t size)
{
    if (buffer->failed)
        return NULL;
    if (size > buffer->room - buffer->size) {
        size_t room = buffer->room ? buffer->room : 256;
        while (room - buffer->size < size) {
            if (room > SIZE_MAX / 2) {
                buffer->failed = true;
                return NULL;
            }
            room *= 2;
        }
        uint8_t *data = realloc(buffer->data, room);
        if (!data) {
            buffer->failed = true;
            return NULL;
        }
        buffer->data = data;
        buffer->room = room;
    }
    uint8_t *at = buffer->data + buffer->size;
    buffer->size += size;
    return at;
}

/* A mark, then the low `bytes` bytes of a number, the highest first. */
static void put_marked(struct ndk_buffer *buffer, uint8_t mark, uint64_t value, int bytes)
{
    uint8_t *at = room_for(buffer, 1 + (size_t)bytes);
    if (!at)
        return;
    *at++ = mark;
    while (bytes--)
        *at++ = (uint8_t)(value >> (8 * bytes));
}

/* Marks of a length: for up to `most` elements within one byte, then for 8 (0: there is none), 16 and 32 bits. */
static void put_length(struct ndk_buffer *buffer, size_t size, uint8_t fix, size_t most, uint8_t m8, uint8_t m16)
{
    if (size < most)
        put_marked(buffer, (uint8_t)(fix | size), 0, 0);
    else if (m8 && size <= UINT8_MAX)
        put_marked(buffer, m8, size, 1);
    else if (size <= UINT16_MAX)
        put_marked(buffer, m16, size, 2);
    else if (size <= UINT32_MAX)
        put_marked(buffer, (uint8_t)(m16 + 1), size, 4);
    else
        buffer->failed = true;
}

static void put_raw(struct ndk_buffer *buffer, const void *bytes, size_t size)
{
    uint8_t *at = size ? room_for(buffer, size) : NULL;
    if (at)
        memcpy(at, bytes, size);
}

void ndk_put_array(struct ndk_buffer *buffer, size_t count)
{
    put_length(buffer, count, 0x90, 16, 0, 0xdc);
}

void ndk_put_int(struct ndk_buffer *buffer, int64_t value)
{
    if (value >= -32 && value <= INT8_MAX)
        put_marked(buffer, (uint8_t)value, 0, 0);
    else if (value >= 0)
        put_marked(buffer, value <= UINT8_MAX ? 0xcc : value <= UINT16_MAX ? 0xcd : value <= UINT32_MAX ? 0xce : 0xcf,
                   (uint64_t)value, value <= UINT8_MAX ? 1 : value <= UINT16_MAX ? 2 : value <= UINT32_MAX ? 4 : 8);
    else
        put_marked(buffer, value >= INT8_MIN ? 0xd0 : value >= INT16_MIN ? 0xd1 : value >= INT32_MIN ? 0xd2 : 0xd3,
                   (uint64_t)value, value >= INT8_MIN ? 1 : value >= INT16_MIN ? 2 : value >= INT32_MIN ? 4 : 8);
}

void ndk_put_double(struct ndk_buffer *buffer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_marked(buffer, 0xcb, bits, 8);
}

void ndk_put_bool(struct ndk_buffer *buffer, bool value)
{
    put_marked(buffer, value ? 0xc3 : 0xc2, 0, 0);
}

void ndk_put_nil(struct ndk_buffer *buffer)
{
    put_marked(buffer, 0xc0, 0, 0);
}

void ndk_put_text(struct ndk_buffer *buffer, const char *text)
{
    size_t size = strlen(text);
    put_length(buffer, size, 0xa0, 32, 0xd9, 0xda);
    put_raw(buffer, text, size);
}

void ndk_put_bytes(struct ndk_buffer *buffer, const void *bytes, size_t size)
{
    put_length(buffer, size, 0, 0, 0xc4, 0xc5);
    put_raw(buffer, bytes, size);
}

void ndk_buffer_free(struct ndk_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct ndk_buffer){0};
}

/* -- reading --------------------------------------------------------------------------------------------------------- */
static size_t left(const struct ndk_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static uint64_t fail(struct ndk_reader *reader)
{
    reader->failed = true;
    reader->at = reader->end;
    return 0;
}

/* The next byte, which is not passed; 0xc1, which no value begins with, at the end. */
static uint8_t mark_of(const struct ndk_reader *reader)
{
    return left(reader) ? *reader->at : 0xc1;
}

/* The number in the `bytes` bytes behind a mark. */
static uint64_t number(struct ndk_reader *reader, size_t bytes)
{
    if (left(reader) < 1 + bytes)
        return fail(reader);
    uint64_t value = 0;
    reader->at++;
    while (bytes--)
        value = value << 8 | *reader->at++;
    return value;
}

size_t ndk_get_array(struct ndk_reader *reader)
{
    uint8_t mark = mark_of(reader);
    uint64_t count = (mark & 0xf0) == 0x90 ? number(reader, 0) + (mark & 15)
                     : mark == 0xdc        ? number(reader, 2)
                     : mark == 0xdd        ? number(reader, 4)
                                           : fail(reader);
    return count <= left(reader) ? (size_t)count : (size_t)fail(reader);
}

int64_t ndk_get_int(struct ndk_reader *reader)
{
    uint8_t mark = mark_of(reader);
    if (mark < 0x80 || mark >= 0xe0) {
        number(reader, 0);
        return (int8_t)mark;
    }
    if (mark >= 0xcc && mark <= 0xcf) {
        uint64_t value = number(reader, (size_t)1 << (mark - 0xcc));
        return value <= INT64_MAX ? (int64_t)value : (int64_t)fail(reader);
    }
    switch (mark) {
    case 0xd0: return (int8_t)number(reader, 1);
    case 0xd1: return (int16_t)number(reader, 2);
    case 0xd2: return (int32_t)number(reader, 4);
    case 0xd3: return (int64_t)number(reader, 8);
    default: return (int64_t)fail(reader);
    }
}

double ndk_get_double(struct ndk_reader *reader)
{
    uint8_t mark = mark_of(reader);
    if (mark == 0xcb) {
        uint64_t bits = number(reader, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (mark == 0xca) {
        uint32_t bits = (uint32_t)number(reader, 4);
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return (double)ndk_get_int(reader);
}

bool ndk_get_bool(struct ndk_reader *reader)
{
    uint8_t mark = mark_of(reader);
    if (mark != 0xc2 && mark != 0xc3)
        return fail(reader);
    reader->at++;
    return mark == 0xc3;
}

bool ndk_get_nil(struct ndk_reader *reader)
{
    bool is_nil = mark_of(reader) == 0xc0;
    reader->at += is_nil;
    return is_nil;
}

/* `size` bytes, which are passed. */
static const uint8_t *raw(struct ndk_reader *reader, uint64_t *size)
{
    if (*size > left(reader))
        *size = fail(reader);
    const uint8_t *at = reader->at;
    reader->at += *size;
    return at;
}

const char *ndk_get_text(struct ndk_reader *reader, size_t *size)
{
    uint8_t mark = mark_of(reader);
    uint64_t length = (mark & 0xe0) == 0xa0 ? number(reader, 0) + (mark & 31)
                      : mark == 0xd9        ? number(reader, 1)
                      : mark == 0xda        ? number(reader, 2)
                      : mark == 0xdb        ? number(reader, 4)
                                            : fail(reader);
    const uint8_t *found = raw(reader, &length);
    *size = (size_t)length;
    return (const char *)found;
}

const uint8_t *ndk_get_bytes(struct ndk_reader *reader, size_t *size)
{
    uint8_t mark = mark_of(reader);
    uint64_t length = mark >= 0xc4 && mark <= 0xc6 ? number(reader, (size_t)1 << (mark - 0xc4)) : fail(reader);
    const uint8_t *found = raw(reader, &length);
    *size = (size_t)length;
    return found;
}

void ndk_skip(struct ndk_reader *reader)
{
    size_t size;
    uint64_t pending = 1; /* no more than there are bytes: each pass takes at least one, or fails */
    while (pending && !reader->failed) {
        uint8_t mark = mark_of(reader);
        pending--;
        if ((mark & 0xf0) == 0x90 || mark == 0xdc || mark == 0xdd) {
            pending += ndk_get_array(reader);
            if (pending > left(reader))
                fail(reader);
        } else if ((mark & 0xe0) == 0xa0 || (mark >= 0xd9 && mark <= 0xdb)) {
            ndk_get_text(reader, &size);
        } else if (mark >= 0xc4 && mark <= 0xc6) {
            ndk_get_bytes(reader, &size);
        } else if (mark == 0xc0 || mark == 0xc2 || mark == 0xc3) {
            reader->at++;
        } else if (mark == 0xca || mark == 0xcb) {
            ndk_get_double(reader);
        } else {
            ndk_get_int(reader);
        }
    }
}
