#include "nnf/packet.h"

#include <string.h>

/* Where a packet is being read: the next element, and how many there are. */
typedef struct walk {
    size_t at, count;
} walk;

static int is_zero(const uint8_t *bytes, size_t count)
{
    uint8_t all = 0;
    for (size_t i = 0; i < count; i++)
        all |= bytes[i];
    return all == 0;
}

/* What is wrong with the next element, which must be of this kind; requests and results have elements of their own. */
#define ELEMENT(w, packet, kind)                                                                                       \
    ((w)->at >= (w)->count                                           ? NNF_PACKET_ENDS                                 \
     : (packet)[(w)->at].tag != (kind)                               ? NNF_PACKET_TAG                                  \
     : !is_zero((packet)[(w)->at].padding, sizeof (packet)->padding) ? NNF_PACKET_PADDING                              \
                                                                     : NNF_PACKET_OK)

/* Likewise of the first one, which tells how many there are. */
#define FIRST(w, packet, kind)                                                                                         \
    ((w)->count == 0                                         ? NNF_PACKET_EMPTY                                        \
     : (packet)->tag != (kind)                               ? NNF_PACKET_FIRST                                        \
     : !is_zero((packet)->padding, sizeof (packet)->padding) ? NNF_PACKET_PADDING                                      \
     : (packet)->as.packet.size != (w)->count                ? NNF_PACKET_SIZE                                         \
                                                             : NNF_PACKET_OK)

/* Of an operand that has come as far: its bool, the padding behind that, and dimensions that follow. */
static enum nnf_packet_fault operand(const walk *w, uint8_t flag, const uint8_t padding[3], uint32_t rank)
{
    if (flag > 1)
        return NNF_PACKET_VALUE;
    if (!is_zero(padding, 3))
        return NNF_PACKET_PADDING;
    return rank > w->count - w->at - 1 ? NNF_PACKET_RANK : NNF_PACKET_OK;
}

/* -- requests --------------------------------------------------------------------------------------------------- */
/* One operand and its dimensions. */
static enum nnf_packet_fault request_operand(walk *w, const nnf_request_datum *packet, uint8_t tag, uint8_t dim_tag)
{
    enum nnf_packet_fault fault = ELEMENT(w, packet, tag);
    if (fault)
        return fault;
    const nnf_request_datum *info = &packet[w->at];
    fault = operand(w, info->as.operand.has_no_value, info->as.operand.padding, info->as.operand.rank);
    if (fault)
        return fault;
    w->at++;
    for (uint32_t axis = 0; axis < info->as.operand.rank; axis++, w->at++)
        if ((fault = ELEMENT(w, packet, dim_tag)))
            return fault;
    return NNF_PACKET_OK;
}

static enum nnf_packet_fault walk_request(nnf_request *r, walk *w)
{
    const nnf_request_datum *packet = r->packet;
    enum nnf_packet_fault fault = FIRST(w, packet, NNF_REQUEST_PACKET);
    if (fault)
        return fault;
    r->inputs = packet[0].as.packet.inputs;
    r->outputs = packet[0].as.packet.outputs;
    r->pools = packet[0].as.packet.pools;
    if ((uint64_t)r->inputs + r->outputs + r->pools + 2 > w->count)
        return NNF_PACKET_COUNTS;
    w->at = 1;
    for (uint32_t i = 0; i < r->inputs; i++) {
        r->places[i] = (uint32_t)w->at;
        if ((fault = request_operand(w, packet, NNF_REQUEST_INPUT, NNF_REQUEST_INPUT_DIM)))
            return fault;
    }
    for (uint32_t i = 0; i < r->outputs; i++) {
        r->places[r->inputs + i] = (uint32_t)w->at;
        if ((fault = request_operand(w, packet, NNF_REQUEST_OUTPUT, NNF_REQUEST_OUTPUT_DIM)))
            return fault;
    }
    r->first_pool = (uint32_t)w->at;
    for (uint32_t i = 0; i < r->pools; i++, w->at++)
        if ((fault = ELEMENT(w, packet, NNF_REQUEST_POOL)))
            return fault;
    if ((fault = ELEMENT(w, packet, NNF_REQUEST_TIMING)))
        return fault;
    r->measure = packet[w->at].as.measure;
    if (r->measure != 0 && r->measure != 1)
        return NNF_PACKET_VALUE;
    w->at++;
    return w->at == w->count ? NNF_PACKET_OK : NNF_PACKET_LEFT;
}

enum nnf_packet_fault nnf_request_parse(nnf_request *request, const nnf_request_datum *packet, size_t count,
                                        uint32_t *places)
{
    walk w = {0, count};
    request->packet = packet;
    request->places = places;
    const enum nnf_packet_fault fault = walk_request(request, &w);
    request->at = w.at;
    return fault;
}

static void put_operand(nnf_request_datum *to, uint8_t tag, const nnf_argument *a)
{
    to->tag = tag;
    to->as.operand.has_no_value = a->has_no_value != 0;
    to->as.operand.pool = a->pool;
    to->as.operand.offset = a->offset;
    to->as.operand.length = a->length;
    to->as.operand.rank = a->rank;
}

size_t nnf_request_build(nnf_request_datum *packet, size_t room, const nnf_argument *arguments, uint32_t inputs,
                         uint32_t outputs, const uint32_t *dims, const int32_t *slots, uint32_t pools, int measure)
{
    const size_t operands = (size_t)inputs + outputs;
    uint64_t size = 2 + (uint64_t)operands + pools;
    for (size_t i = 0; i < operands; i++)
        size += arguments[i].rank;
    if (size > room || size > UINT32_MAX)
        return 0;
    memset(packet, 0, (size_t)size * sizeof *packet);
    nnf_request_datum *to = packet;
    to->tag = NNF_REQUEST_PACKET;
    to->as.packet.size = (uint32_t)size;
    to->as.packet.inputs = inputs;
    to->as.packet.outputs = outputs;
    to->as.packet.pools = pools;
    to++;
    for (size_t i = 0; i < operands; i++) {
        put_operand(to++, i < inputs ? NNF_REQUEST_INPUT : NNF_REQUEST_OUTPUT, &arguments[i]);
        for (uint32_t axis = 0; axis < arguments[i].rank; axis++, to++) {
            to->tag = i < inputs ? NNF_REQUEST_INPUT_DIM : NNF_REQUEST_OUTPUT_DIM;
            to->as.dimension = *dims++;
        }
    }
    for (uint32_t i = 0; i < pools; i++, to++) {
        to->tag = NNF_REQUEST_POOL;
        to->as.slot = slots[i];
    }
    to->tag = NNF_REQUEST_TIMING;
    to->as.measure = measure;
    return (size_t)size;
}

/* -- results ---------------------------------------------------------------------------------------------------- */
static enum nnf_packet_fault result_operand(walk *w, const nnf_result_datum *packet)
{
    enum nnf_packet_fault fault = ELEMENT(w, packet, NNF_RESULT_OPERAND);
    if (fault)
        return fault;
    const nnf_result_datum *info = &packet[w->at];
    fault = operand(w, info->as.operand.is_sufficient, info->as.operand.padding, info->as.operand.rank);
    if (fault)
        return fault;
    w->at++;
    for (uint32_t axis = 0; axis < info->as.operand.rank; axis++, w->at++)
        if ((fault = ELEMENT(w, packet, NNF_RESULT_DIM)))
            return fault;
    return NNF_PACKET_OK;
}

static enum nnf_packet_fault walk_result(nnf_result *r, walk *w)
{
    const nnf_result_datum *packet = r->packet;
    enum nnf_packet_fault fault = FIRST(w, packet, NNF_RESULT_PACKET);
    if (fault)
        return fault;
    r->operands = packet[0].as.packet.operands;
    if ((uint64_t)r->operands + NNF_SHORTEST_RESULT > w->count)
        return NNF_PACKET_COUNTS;
    r->status = packet[0].as.packet.status;
    if (r->status < 0 || r->status > NNF_LAST_STATUS)
        return NNF_PACKET_VALUE;
    w->at = 1;
    for (uint32_t i = 0; i < r->operands; i++) {
        r->places[i] = (uint32_t)w->at;
        if ((fault = result_operand(w, packet)))
            return fault;
    }
    if ((fault = ELEMENT(w, packet, NNF_RESULT_TIMING)))
        return fault;
    r->on_device = packet[w->at].as.timing.on_device;
    r->in_driver = packet[w->at].as.timing.in_driver;
    w->at++;
    return w->at == w->count ? NNF_PACKET_OK : NNF_PACKET_LEFT;
}

enum nnf_packet_fault nnf_result_parse(nnf_result *result, const nnf_result_datum *packet, size_t count,
                                       uint32_t *places)
{
    walk w = {0, count};
    result->packet = packet;
    result->places = places;
    const enum nnf_packet_fault fault = walk_result(result, &w);
    result->at = w.at;
    return fault;
}

size_t nnf_result_build(nnf_result_datum *packet, size_t room, int32_t status, const nnf_output *outputs,
                        uint32_t count, const uint32_t *dims, uint64_t on_device, uint64_t in_driver)
{
    uint64_t size = NNF_SHORTEST_RESULT + (uint64_t)count;
    for (uint32_t i = 0; i < count; i++)
        size += outputs[i].rank;
    if (size > room || size > UINT32_MAX)
        return 0;
    memset(packet, 0, (size_t)size * sizeof *packet);
    nnf_result_datum *to = packet;
    to->tag = NNF_RESULT_PACKET;
    to->as.packet.size = (uint32_t)size;
    to->as.packet.status = status;
    to->as.packet.operands = count;
    to++;
    for (uint32_t i = 0; i < count; i++) {
        to->tag = NNF_RESULT_OPERAND;
        to->as.operand.is_sufficient = outputs[i].is_sufficient != 0;
        to->as.operand.rank = outputs[i].rank;
        to++;
        for (uint32_t axis = 0; axis < outputs[i].rank; axis++, to++) {
            to->tag = NNF_RESULT_DIM;
            to->as.dimension = *dims++;
        }
    }
    to->tag = NNF_RESULT_TIMING;
    to->as.timing.on_device = on_device;
    to->as.timing.in_driver = in_driver;
    return (size_t)size;
}
