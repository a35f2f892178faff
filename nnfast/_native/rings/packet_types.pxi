"""Packets as csrc/include/nnf/packet.h declares them."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

cdef extern from "nnf/packet.h":
    enum:
        NNF_SHORTEST_RESULT
        NNF_GENERAL_FAILURE

    cdef enum nnf_packet_fault:
        NNF_PACKET_OK

    const uint64_t NNF_NO_TIME

    ctypedef struct nnf_request_information:
        uint32_t size, inputs, outputs, pools

    ctypedef struct nnf_request_operand:
        uint8_t has_no_value
        uint32_t pool, offset, length, rank

    ctypedef union nnf_request_union:
        nnf_request_information packet
        nnf_request_operand operand
        uint32_t dimension
        int32_t slot
        int32_t measure

    ctypedef struct nnf_request_datum:
        uint8_t tag
        nnf_request_union as_ "as"

    ctypedef struct nnf_result_information:
        uint32_t size
        int32_t status
        uint32_t operands

    ctypedef struct nnf_result_operand:
        uint8_t is_sufficient
        uint32_t rank

    ctypedef struct nnf_result_time:
        uint64_t on_device, in_driver

    ctypedef union nnf_result_union:
        nnf_result_information packet
        nnf_result_operand operand
        uint32_t dimension
        nnf_result_time timing

    ctypedef struct nnf_result_datum:
        uint8_t tag
        nnf_result_union as_ "as"

    ctypedef struct nnf_request:
        const nnf_request_datum *packet
        uint32_t *places
        uint32_t inputs, outputs, pools, first_pool
        int measure
        size_t at

    ctypedef struct nnf_result:
        const nnf_result_datum *packet
        uint32_t *places
        uint32_t operands
        int32_t status
        uint64_t on_device, in_driver
        size_t at

    ctypedef struct nnf_argument:
        uint32_t has_no_value, pool, offset, length, rank

    ctypedef struct nnf_output:
        uint32_t is_sufficient, rank

    nnf_packet_fault nnf_request_parse(nnf_request *request, const nnf_request_datum *packet, size_t count,
                                       uint32_t *places) noexcept nogil
    nnf_packet_fault nnf_result_parse(nnf_result *result, const nnf_result_datum *packet, size_t count,
                                      uint32_t *places) noexcept nogil
    size_t nnf_request_build(nnf_request_datum *packet, size_t room, const nnf_argument *arguments, uint32_t inputs,
                             uint32_t outputs, const uint32_t *dims, const int32_t *slots, uint32_t pools,
                             int measure) noexcept nogil
    size_t nnf_result_build(nnf_result_datum *packet, size_t room, int32_t status, const nnf_output *outputs,
                            uint32_t count, const uint32_t *dims, uint64_t on_device,
                            uint64_t in_driver) noexcept nogil
