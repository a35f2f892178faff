#define _GNU_SOURCE
#include "stored.h"

#include "fields.h"
#include "release.h"
#include "session.h"

int ndk_load_stored(struct ndk_connection *connection, const int fds[2], const struct ndk_stored *wanted,
                    struct ndk_reader *answer)
{
    static const char where[] = "cache";
    struct ndk_buffer message = {0};
    ndk_put_array(&message, 4);
    ndk_put_int(&message, NDK_CHECK_CACHE);
    ndk_put_bytes(&message, wanted->token, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN);
    ndk_put_passes(&message, wanted->is_reference);
    ndk_put_name(&message, wanted->precision);
    int code = ndk_call_with(connection, &message, fds, 2, NDK_NUMBER, answer, where);
    ndk_buffer_free(&message);
    if (code)
        return code;
    int64_t number = ndk_get_int(answer);
    ndk_put_array(&message, 5);
    ndk_put_int(&message, NDK_LOAD);
    ndk_put_int(&message, number);
    ndk_put_deadline(&message, wanted->timeout);
    ndk_put_bool(&message, false); /* launch */
    ndk_put_int(&message, wanted->num_threads);
    code = ndk_call(connection, &message, -1, NDK_PREPARED, answer, where);
    ndk_buffer_free(&message);
    ndk_session_release(connection->session, "load", number);
    return code;
}
