/* Whether a packet that was parsed comes out again, element by element, when it is built from what was parsed. */
#ifndef NNF_PACKET_RETURNS_H
#define NNF_PACKET_RETURNS_H

#include <string.h>

#include "nnf/packet.h"

enum { MOST = 96 }; /* elements of a packet */

/* Whether a request comes out again from what was parsed of it, as far as its members reach. */
static int request_returns(const nnf_request *r, size_t count)
{
    static nnf_request_datum again[MOST];
    nnf_argument arguments[MOST];
    uint32_t dims[MOST], used = 0;
    int32_t slots[MOST];
    for (uint32_t i = 0; i < r->inputs + r->outputs; i++) {
        const nnf_request_datum *info = &r->packet[r->places[i]];
        arguments[i] = (nnf_argument){info->as.operand.has_no_value, info->as.operand.pool, info->as.operand.offset,
                                      info->as.operand.length, info->as.operand.rank};
        for (uint32_t axis = 0; axis < info->as.operand.rank; axis++)
            dims[used++] = info[1 + axis].as.dimension;
    }
    for (uint32_t i = 0; i < r->pools; i++)
        slots[i] = r->packet[r->first_pool + i].as.slot;
    if (nnf_request_build(again, MOST, arguments, r->inputs, r->outputs, dims, slots, r->pools, r->measure) != count)
        return 0;
    static const size_t covered[] = {20, 24, 8, 24, 8, 8, 8}; /* bytes up to the end of the member of each tag */
    for (size_t i = 0; i < count; i++)
        if (memcmp(&again[i], &r->packet[i], covered[again[i].tag]) != 0)
            return 0;
    return 1;
}

static int result_returns(const nnf_result *r, size_t count)
{
    static nnf_result_datum again[MOST];
    nnf_output outputs[MOST];
    uint32_t dims[MOST], used = 0;
    for (uint32_t i = 0; i < r->operands; i++) {
        const nnf_result_datum *info = &r->packet[r->places[i]];
        outputs[i] = (nnf_output){info->as.operand.is_sufficient, info->as.operand.rank};
        for (uint32_t axis = 0; axis < info->as.operand.rank; axis++)
            dims[used++] = info[1 + axis].as.dimension;
    }
    if (nnf_result_build(again, MOST, r->status, outputs, r->operands, dims, r->on_device, r->in_driver) != count)
        return 0;
    static const size_t covered[] = {20, 16, 12, 24};
    for (size_t i = 0; i < count; i++)
        if (memcmp(&again[i], &r->packet[i], covered[again[i].tag]) != 0)
            return 0;
    return 1;
}

#endif
