/* Runs through rings, whose packets say less than messages: no time limits, and fewer statuses. What fails there for
 * another reason than too little room is done again by a message, which tells why. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "lane.h"
#include "nnf/packet.h"
#include "run.h"

enum { FEW = 64 }; /* arguments */

/* The packet of a run; 0 for one that it cannot say. */
static size_t build(const struct ndk_run *run, const struct ndk_lane *lane, nnf_request_datum *packet)
{
    nnf_argument arguments[FEW] = {0};
    uint32_t dims[NDK_LANE_ELEMENTS], rank = 0, count = run->input_count + run->output_count;
    int32_t slots[FEW + 1] = {NDK_ARENA_SLOT};
    bool has_arena = run->arena_size > 0;
    for (size_t k = 0; k < run->memory_count; k++)
        slots[has_arena + k] = ndk_lane_slot(lane, run->memories[k]);
    for (uint32_t i = 0; i < count; i++) {
        const struct ndk_argument *argument = ndk_run_argument(run, i);
        if (ndk_run_omits(run, i)) {
            arguments[i].has_no_value = 1;
            continue;
        }
        bool is_in_memory = argument->place == NDK_IN_MEMORY;
        size_t offset = is_in_memory ? argument->offset : run->starts[i], length = ndk_run_length(run, i);
        if (offset > UINT32_MAX || length > UINT32_MAX || ndk_run_rank(run, i) > NDK_LANE_ELEMENTS - rank)
            return 0;
        arguments[i] = (nnf_argument){0, is_in_memory ? (uint32_t)(run->starts[i] + has_arena) : 0, (uint32_t)offset,
                                      (uint32_t)length, ndk_run_rank(run, i)};
        for (uint32_t axis = 0; axis < arguments[i].rank; axis++)
            dims[rank++] = argument->dims[axis];
    }
    return nnf_request_build(packet, NDK_LANE_ELEMENTS, arguments, run->input_count, run->output_count, dims, slots,
                             (uint32_t)(has_arena + run->memory_count), run->execution->is_measured);
}

static uint64_t duration_of(uint64_t us)
{
    return us == NNF_NO_TIME ? UINT64_MAX : us > UINT64_MAX / 1000 - 1 ? UINT64_MAX - 1 : 1000 * us;
}

/* Takes the results out of a packet. */
static int take(const struct ndk_run *run, const uint8_t *arena, const nnf_result_datum *packet, size_t count)
{
    const ANeuralNetworksModel *model = run->execution->compilation->model;
    uint32_t places[NDK_LANE_ELEMENTS];
    nnf_result found;
    if (nnf_result_parse(&found, packet, count, places) || found.operands != run->output_count ||
        (found.status && found.status != NDK_OUTPUT_INSUFFICIENT_SIZE))
        return NDK_OTHER_WAY;
    for (uint32_t i = 0; i < run->output_count; i++) {
        const nnf_result_datum *information = &packet[places[i]];
        struct ndk_result *result = ndk_run_result(run, i, information->as.operand.rank);
        if (!result)
            return ANEURALNETWORKS_OUT_OF_MEMORY;
        for (uint32_t axis = 0; axis < result->rank; axis++)
            result->dims[axis] = information[1 + axis].as.dimension;
        result->is_sufficient = information->as.operand.is_sufficient;
        if (!found.status)
            ndk_run_copy_out(run, arena, i, ndk_bytes(model->operands[model->outputs[i]].type, result->rank,
                                                      result->dims));
    }
    run->execution->on_device = duration_of(found.on_device);
    run->execution->in_driver = duration_of(found.in_driver);
    return found.status ? ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE : ANEURALNETWORKS_NO_ERROR;
}

int ndk_run_by_lane(const struct ndk_run *run)
{
    const ANeuralNetworksExecution *execution = run->execution;
    nnf_request_datum request[NDK_LANE_ELEMENTS];
    nnf_result_datum result[NDK_LANE_ELEMENTS];
    size_t count;
    if (execution->has_loop_timeout || run->input_count + run->output_count > FEW)
        return NDK_OTHER_WAY;
    struct ndk_lane *lane = ndk_lane_take(execution->compilation->prepared, run->arena_size, run->memories,
                                          run->memory_count);
    if (!lane)
        return NDK_OTHER_WAY;
    size_t size = build(run, lane, request);
    if (!size) {
        ndk_lane_give(lane, false);
        return NDK_OTHER_WAY;
    }
    ndk_run_copy_in(run, ndk_lane_arena(lane));
    int code = ndk_lane_exchange(lane, request, size, result, &count);
    bool is_broken = code != ANEURALNETWORKS_NO_ERROR;
    if (!code)
        code = take(run, ndk_lane_arena(lane), result, count);
    ndk_lane_give(lane, is_broken);
    return code == ANEURALNETWORKS_OP_FAILED ? NDK_OTHER_WAY : code;
}
