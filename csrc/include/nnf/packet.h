/* Packets of bursts [NN 4.2-4.7]: requests from a client to a driver, results back.
 *
 * The functions look at packets that lie in private memory: the other side of a ring may change what lies in the ring.
 * Nothing here allocates. Every count that a packet announces is held against the number of its elements before it is
 * used, and nothing is read beyond those elements. */
#ifndef NNF_PACKET_H
#define NNF_PACKET_H

#include <stddef.h>
#include <stdint.h>

enum {
    NNF_REQUEST_PACKET,
    NNF_REQUEST_INPUT,
    NNF_REQUEST_INPUT_DIM,
    NNF_REQUEST_OUTPUT,
    NNF_REQUEST_OUTPUT_DIM,
    NNF_REQUEST_POOL,
    NNF_REQUEST_TIMING
};

/* Padding is what no member of the union covers: it is zero. */
typedef struct nnf_request_datum {
    uint8_t tag;
    uint8_t padding[3];
    union {
        struct {
            uint32_t size, inputs, outputs, pools;
        } packet;
        struct {
            uint8_t has_no_value;
            uint8_t padding[3];
            uint32_t pool, offset, length; /* pool: place in the packet's own list of pools */
            uint32_t rank;                 /* so many dimension elements follow */
        } operand;
        uint32_t dimension;
        int32_t slot;
        int32_t measure; /* MeasureTiming: 0 or 1 */
    } as;
} nnf_request_datum;

enum { NNF_RESULT_PACKET, NNF_RESULT_OPERAND, NNF_RESULT_DIM, NNF_RESULT_TIMING };

typedef struct nnf_result_datum {
    uint8_t tag;
    uint8_t padding[7];
    union {
        struct {
            uint32_t size;
            int32_t status; /* ErrorStatus of HAL 1.0 */
            uint32_t operands;
        } packet;
        struct {
            uint8_t is_sufficient;
            uint8_t padding[3];
            uint32_t rank;
        } operand;
        uint32_t dimension;
        struct {
            uint64_t on_device, in_driver;
        } timing;
    } as;
} nnf_result_datum;

_Static_assert(sizeof(nnf_request_datum) == 24 && offsetof(nnf_request_datum, as) == 4, "FmqRequestDatum");
_Static_assert(sizeof(nnf_result_datum) == 24 && offsetof(nnf_result_datum, as) == 8, "FmqResultDatum");

#define NNF_NO_TIME UINT64_MAX
enum { NNF_LAST_STATUS = 4, NNF_GENERAL_FAILURE = 2, NNF_SHORTEST_RESULT = 2 };

/* Why a packet is ill-formed, in the order of the checks [NN 4.7]. */
enum nnf_packet_fault {
    NNF_PACKET_OK,
    NNF_PACKET_EMPTY,
    NNF_PACKET_FIRST,   /* element 0 is no packetInformation */
    NNF_PACKET_SIZE,    /* packetSize is not the number of elements */
    NNF_PACKET_COUNTS,  /* more operands and pools than elements */
    NNF_PACKET_ENDS,    /* there is no element where one was announced */
    NNF_PACKET_TAG,     /* the element is of another kind than the one announced here, or of none */
    NNF_PACKET_RANK,    /* more dimensions than elements are left */
    NNF_PACKET_VALUE,   /* a bool, MeasureTiming or ErrorStatus that has no such value */
    NNF_PACKET_PADDING, /* a padding byte is not zero */
    NNF_PACKET_LEFT,    /* elements behind the last one */
    NNF_PACKET_FAULTS
};

/* A request as it lies in a packet: the elements stay where they are. */
typedef struct nnf_request {
    const nnf_request_datum *packet;
    uint32_t *places; /* [inputs + outputs] element of each operand's information; its dimensions follow there */
    uint32_t inputs, outputs, pools;
    uint32_t first_pool; /* element of the first poolIdentifier */
    int measure;
    size_t at; /* element that a fault is about */
} nnf_request;

/* Looks through the `count` elements of a packet; `places` has room for `count` numbers. Fills in *request when it
 * returns NNF_PACKET_OK, else at least its `at`. */
enum nnf_packet_fault nnf_request_parse(nnf_request *request, const nnf_request_datum *packet, size_t count,
                                        uint32_t *places);

typedef struct nnf_result {
    const nnf_result_datum *packet;
    uint32_t *places; /* [operands] element of each output's information */
    uint32_t operands;
    int32_t status;
    uint64_t on_device, in_driver;
    size_t at;
} nnf_result;

/* As nnf_request_parse. */
enum nnf_packet_fault nnf_result_parse(nnf_result *result, const nnf_result_datum *packet, size_t count,
                                       uint32_t *places);

/* One argument of a request that is to be built. */
typedef struct nnf_argument {
    uint32_t has_no_value, pool, offset, length, rank;
} nnf_argument;

/* Builds a packet of `inputs` and then `outputs` arguments, whose dimensions follow each other in `dims`. Returns its
 * number of elements; 0 when it does not fit into `room`, nothing is written then. */
size_t nnf_request_build(nnf_request_datum *packet, size_t room, const nnf_argument *arguments, uint32_t inputs,
                         uint32_t outputs, const uint32_t *dims, const int32_t *slots, uint32_t pools, int measure);

typedef struct nnf_output {
    uint32_t is_sufficient, rank;
} nnf_output;

size_t nnf_result_build(nnf_result_datum *packet, size_t room, int32_t status, const nnf_output *outputs,
                        uint32_t count, const uint32_t *dims, uint64_t on_device, uint64_t in_driver);

#endif
