/* Compiled models that the driver has stored in two files. */
#ifndef NDK_STORED_H
#define NDK_STORED_H

#include "cache.h"
#include "connection.h"

/* What is asked for besides the files: the token that they were stored under, and what the driver must have been told
 * then. precision: NULL for the session's; num_threads: of a run, 0 for all; timeout: nanoseconds, 0 for none. */
struct ndk_stored {
    const uint8_t *token;
    const char *precision;
    bool is_reference;
    int num_threads;
    uint64_t timeout;
};

/* Has the driver load the model of two open files, which stay the caller's; the answer is Prepared. BAD_DATA and other
 * codes if it does not take them. */
int ndk_load_stored(struct ndk_connection *connection, const int fds[2], const struct ndk_stored *wanted,
                    struct ndk_reader *answer);

#endif
