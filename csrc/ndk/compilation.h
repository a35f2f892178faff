/* Compilations as the library keeps them. */
#ifndef NDK_COMPILATION_H
#define NDK_COMPILATION_H

#include "model.h"

/* number: of the prepared model in the session. can_run: false for a model that compiles and never runs: contradictory
 * shapes, or values of constants that its operations do not take. is_single: made for one device. cache: NULL for none. */
struct ANeuralNetworksCompilation {
    const ANeuralNetworksModel *model;
    enum ndk_state state;
    bool is_single, can_run;
    const char *preference, *priority;
    uint64_t timeout;
    struct ndk_cache *cache;
    struct ndk_session *session;
    int64_t number;
};

/* Time `duration` nanoseconds from now as the driver takes it, in seconds of CLOCK_MONOTONIC; nil for 0, and for what is
 * further away than any execution. */
void ndk_put_deadline(struct ndk_buffer *message, uint64_t duration);

#endif
