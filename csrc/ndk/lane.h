/* Lanes: runs of one prepared model through two rings in memory that the driver shares [docs/bursts.md], one at a time,
 * without messages. A lane is opened for a model that has run often; whoever finds none takes the way of messages. */
#ifndef NDK_LANE_H
#define NDK_LANE_H

#include "memory.h"
#include "prepared.h"

struct ndk_lane;

/* A lane on which the driver knows these memories, with an arena of so many bytes; NULL if there is none now. Give it
 * back; is_broken: for good. */
struct ndk_lane *ndk_lane_take(struct ndk_prepared *prepared, size_t arena_size,
                               const ANeuralNetworksMemory *const *memories, size_t count);
void ndk_lane_give(struct ndk_lane *lane, bool is_broken);

uint8_t *ndk_lane_arena(const struct ndk_lane *lane);

/* Number of the arena, and of the memories that were asked for, in packets. */
enum { NDK_ARENA_SLOT = 0 };
int32_t ndk_lane_slot(const struct ndk_lane *lane, const ANeuralNetworksMemory *memory);

struct nnf_request_datum;
struct nnf_result_datum;
enum { NDK_LANE_ELEMENTS = 1024 };

/* Sends a packet, and waits for its answer, of *count elements (at most NDK_LANE_ELEMENTS). DEAD_OBJECT when the driver
 * has gone; OP_FAILED when the lane is of no use any more. */
int ndk_lane_exchange(struct ndk_lane *lane, const struct nnf_request_datum *request, size_t size,
                      struct nnf_result_datum *result, size_t *count);

#endif
