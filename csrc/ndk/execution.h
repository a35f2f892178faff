/* Executions as the library keeps them. */
#ifndef NDK_EXECUTION_H
#define NDK_EXECUTION_H

#include "compilation.h"

enum ndk_place { NDK_UNSET, NDK_POINTER, NDK_IN_MEMORY, NDK_NOTHING };

/* An input or output. dims: the model's combined with what was given at run time, has_dims: where something was given.
 * length: bytes of its place; size: of its value, 0 while that is not known. */
struct ndk_argument {
    enum ndk_place place;
    void *pointer;
    const ANeuralNetworksMemory *memory;
    size_t offset, length, size;
    bool has_dims;
    uint32_t rank, *dims;
};

/* What an output was, after the last run. */
struct ndk_result {
    uint32_t rank, *dims;
    bool is_sufficient;
};

enum ndk_phase { NDK_PREPARATION, NDK_COMPUTATION, NDK_COMPLETED };

/* lock: of phase. code: of the last run. */
struct ANeuralNetworksExecution {
    const ANeuralNetworksCompilation *compilation;
    pthread_mutex_t lock;
    enum ndk_phase phase;
    int code;
    bool is_reusable, has_padding, has_lengths, is_measured, has_loop_timeout;
    uint64_t timeout, loop_timeout, on_device, in_driver;
    struct ndk_argument *inputs, *outputs;
    struct ndk_result *results;
    struct ndk_attributes attributes;
};

/* Begins a run: BAD_STATE, with nothing done, unless the execution may be run now. */
int ndk_begin(ANeuralNetworksExecution *execution);

/* Whether all arguments are set. */
bool ndk_is_complete(const ANeuralNetworksExecution *execution);

/* Computes what was begun, within `timeout` nanoseconds (0: no limit). */
int ndk_run(ANeuralNetworksExecution *execution, uint64_t timeout);

/* Ends it; nothing of the execution is touched afterwards. Returns `code`. */
int ndk_end(ANeuralNetworksExecution *execution, int code);

#endif
