/* One run of an execution on its way to the driver and back. */
#ifndef NDK_RUN_H
#define NDK_RUN_H

#include "execution.h"

/* memories: of the request, behind the arena. starts: of each argument, its place in the arena or the number of its
 * memory among these. unwanted: bytes for an output that the caller does not want, by its number. */
struct ndk_run {
    ANeuralNetworksExecution *execution;
    uint32_t input_count, output_count;
    const ANeuralNetworksMemory **memories;
    size_t memory_count, *starts, arena_size, *unwanted;
};

/* Inputs, and then outputs. */
struct ndk_argument *ndk_run_argument(const struct ndk_run *run, uint32_t place);

/* Bytes that the request says an argument has; padding is not for the driver. */
size_t ndk_run_length(const struct ndk_run *run, uint32_t place);

/* Whether the caller omits an input. */
bool ndk_run_omits(const struct ndk_run *run, uint32_t place);

/* Dimensions that the request tells of an argument; 0 where the model does. */
uint32_t ndk_run_rank(const struct ndk_run *run, uint32_t place);

/* Finds the places of arguments in the arena, and the memories. */
void ndk_run_lay_out(struct ndk_run *run);

/* Copies between the caller's memory and an arena; size: of an output, as the driver has it. */
void ndk_run_copy_in(const struct ndk_run *run, uint8_t *arena);
void ndk_run_copy_out(const struct ndk_run *run, const uint8_t *arena, uint32_t output, uint64_t size);

/* Room for the shape of an output; NULL if there is no memory. */
struct ndk_result *ndk_run_result(const struct ndk_run *run, uint32_t output, size_t rank);

/* -- the two ways: a code, with the results in the execution --------------------------------------------------------- */
/* By a message. timeout: nanoseconds, 0 for no limit. */
int ndk_run_by_message(const struct ndk_run *run, uint64_t timeout);

/* Through a ring; NDK_OTHER_WAY if it must go, or be done again, by a message. */
enum { NDK_OTHER_WAY = -1 };
int ndk_run_by_lane(const struct ndk_run *run);

#endif
