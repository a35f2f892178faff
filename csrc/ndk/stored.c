#define _GNU_SOURCE
#include "stored.h"

#include "fields.h"

int ndk_load_stored(struct ndk_connection *connection, const int fds[2], const struct ndk_stored *wanted,
                    struct ndk_reader *answer)
{
    static const char where[] = "cache";
    struct ndk_buffer message = {0};
    ndk_put_array(&message, 6);
    ndk_put_int(&message, NDK_LOAD_CACHE);
    ndk_put_bytes(&message, wanted->token, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN);
    ndk_put_passes(&message, wanted->is_reference);
    ndk_put_name(&message, wanted->precision);
    ndk_put_deadline(&message, wanted->timeout);
    ndk_put_int(&message, wanted->num_threads);
    int code = ndk_call_with(connection, &message, fds, 2, NDK_PREPARED, answer, where);
    ndk_buffer_free(&message);
    return code;
}
