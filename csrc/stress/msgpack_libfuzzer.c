/* Reading of what a driver sends to the C library, under libFuzzer: byte 0 of each step says what is asked for, the rest
 * of the input is what is there. The bytes lie at the very end of their memory, so that the address sanitizer sees a
 * read beyond them. Every step takes what is there, or fails and leaves nothing. */
#include <stdlib.h>
#include <string.h>

#include "ndk/msgpack.h"

enum { STEPS = 16 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void inside(const struct ndk_reader *reader, const void *bytes, size_t size)
{
    must((const uint8_t *)bytes + size == reader->at);
}

/* What was read is written and read again: the same. */
static void write_again(int64_t number, double real, const uint8_t *bytes, size_t size)
{
    struct ndk_buffer buffer = {0};
    char *text = calloc(size + 1, 1);
    size_t found;
    if (!text)
        return;
    if (size)
        memcpy(text, bytes, size);
    ndk_put_array(&buffer, 4);
    ndk_put_int(&buffer, number);
    ndk_put_double(&buffer, real);
    ndk_put_bytes(&buffer, bytes, size);
    ndk_put_text(&buffer, text);
    must(!buffer.failed);
    struct ndk_reader reader = {buffer.data, buffer.data + buffer.size, false}, whole = reader;
    must(ndk_get_array(&reader) == 4 && ndk_get_int(&reader) == number);
    double again = ndk_get_double(&reader);
    must(!memcmp(&again, &real, sizeof real));
    const uint8_t *copy = ndk_get_bytes(&reader, &found);
    must(found == size && (!size || !memcmp(copy, bytes, size)));
    const char *read = ndk_get_text(&reader, &found);
    must(found == strlen(text) && (!found || !memcmp(read, text, found)));
    must(!reader.failed && reader.at == reader.end);
    ndk_skip(&whole);
    must(!whole.failed && whole.at == whole.end);
    ndk_buffer_free(&buffer);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < STEPS)
        return 0;
    size_t count = size - STEPS, length = 0;
    uint8_t *bytes = malloc(count + !count);
    memcpy(bytes, data + STEPS, count);
    struct ndk_reader reader = {bytes, bytes + count, false};
    int64_t number = 0;
    double real = 0;
    const uint8_t *found = bytes;
    for (int step = 0; step < STEPS && !reader.failed; step++) {
        const uint8_t *before = reader.at;
        bool may_stay = false;
        switch (data[step] % 8) {
        case 0: must(ndk_get_array(&reader) <= (size_t)(reader.end - reader.at)); break;
        case 1: number = ndk_get_int(&reader); break;
        case 2: real = ndk_get_double(&reader); break;
        case 3: ndk_get_bool(&reader); break;
        case 4: may_stay = !ndk_get_nil(&reader); break;
        case 5:
            found = (const uint8_t *)ndk_get_text(&reader, &length);
            inside(&reader, found, length);
            break;
        case 6:
            found = ndk_get_bytes(&reader, &length);
            inside(&reader, found, length);
            break;
        default: ndk_skip(&reader);
        }
        must(reader.at <= reader.end && reader.at >= before && (!reader.failed || reader.at == reader.end));
        must(may_stay || reader.at > before || reader.failed);
    }
    write_again(number, real, found, length);
    free(bytes);
    return 0;
}
