"""Packets of bursts as Python values [NN 4.2-4.7]: rows of 24 bytes, one for each element."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free

from ..errors import GeneralFailure, InvalidArgument

import numpy as np

DATUM_BYTES = sizeof(nnf_request_datum)
NO_TIME = NNF_NO_TIME
"""A time that is not available."""

_FAULTS = (
    "", "has no elements", "must be packetInformation", "announces another number of elements than there are",
    "announces more operands and pools than there are elements", "is missing", "is of another kind than announced",
    "announces more dimensions than elements are left", "has an invalid value", "has padding that is not zero",
    "is behind the last one announced",
)


cdef str fault_text(str kind, nnf_packet_fault fault, size_t at):
    return f"{kind} packet: element {at} {_FAULTS[<int>fault]}"


cdef tuple dims_at(const nnf_request_datum *info, uint32_t rank):
    cdef uint32_t axis
    cdef list dims = []
    for axis in range(rank):
        dims.append(info[axis].as_.dimension)
    return tuple(dims)


cdef tuple request_values(const nnf_request *request):
    cdef uint32_t i
    cdef const nnf_request_datum *info
    cdef list operands = [], slots = []
    for i in range(request.inputs + request.outputs):
        info = &request.packet[request.places[i]]
        operands.append((info.as_.operand.has_no_value != 0, info.as_.operand.pool, info.as_.operand.offset,
                         info.as_.operand.length, dims_at(info + 1, info.as_.operand.rank)))
    for i in range(request.pools):
        slots.append(request.packet[request.first_pool + i].as_.slot)
    return operands[:request.inputs], operands[request.inputs:], slots, request.measure != 0


cdef tuple result_values(const nnf_result *result):
    cdef uint32_t i, axis
    cdef const nnf_result_datum *info
    cdef list shapes = [], dims
    for i in range(result.operands):
        info = &result.packet[result.places[i]]
        dims = []
        for axis in range(info.as_.operand.rank):
            dims.append(info[1 + axis].as_.dimension)
        shapes.append((tuple(dims), info.as_.operand.is_sufficient != 0))
    return result.status, shapes, result.on_device, result.in_driver


def parse_request(packet):
    """(inputs, outputs, slots, measure) of a request packet: any contiguous array of 24 bytes an element.

    Each operand is (has no value, pool, offset, length, dimensions). Raises InvalidArgument for an ill-formed packet.
    """
    cdef const unsigned char[::1] data = _bytes_of(packet)
    cdef size_t count = data.shape[0] // DATUM_BYTES
    cdef nnf_request request
    cdef uint32_t *places = <uint32_t *>PyMem_Calloc(count + 1, sizeof(uint32_t))
    if places == NULL:
        raise MemoryError()
    try:
        fault = nnf_request_parse(&request, <const nnf_request_datum *>(&data[0] if count else NULL), count, places)
        if fault:
            raise InvalidArgument(fault_text("request", fault, request.at))
        return request_values(&request)
    finally:
        PyMem_Free(places)


def parse_result(packet):
    """(status, [(dimensions, is sufficient)], time on device, time in driver) of a result packet.

    Raises GeneralFailure for an ill-formed packet [NN 4.9].
    """
    cdef const unsigned char[::1] data = _bytes_of(packet)
    cdef size_t count = data.shape[0] // DATUM_BYTES
    cdef nnf_result result
    cdef uint32_t *places = <uint32_t *>PyMem_Calloc(count + 1, sizeof(uint32_t))
    if places == NULL:
        raise MemoryError()
    try:
        fault = nnf_result_parse(&result, <const nnf_result_datum *>(&data[0] if count else NULL), count, places)
        if fault:
            raise GeneralFailure(fault_text("result", fault, result.at))
        return result_values(&result)
    finally:
        PyMem_Free(places)


def build_request(inputs, outputs, slots, measure):
    """Request packet of what parse_request gives, as an uint8 array of [elements, 24]."""
    operands, arguments, dims = [*inputs, *outputs], [], []
    for no_value, pool, offset, length, extents in operands:
        arguments.append((bool(no_value), pool, offset, length, len(extents)))
        dims.extend(extents)
    arguments, dims = np.array(arguments or np.zeros((0, 5)), np.uint32), np.array(dims, np.uint32)
    named = np.array(slots, np.int32)
    packet = np.zeros((2 + len(operands) + len(dims) + len(named), DATUM_BYTES), np.uint8)
    cdef unsigned char[:, ::1] at = packet
    cdef const uint32_t[:, ::1] rows = arguments
    cdef const uint32_t[::1] sizes = dims
    cdef const int32_t[::1] pools = named
    nnf_request_build(<nnf_request_datum *>&at[0, 0], len(packet),
                      <const nnf_argument *>(&rows[0, 0] if len(operands) else NULL), len(inputs), len(outputs),
                      &sizes[0] if len(dims) else NULL, &pools[0] if len(named) else NULL, len(named), measure)
    return packet


def build_result(status, shapes, on_device=NO_TIME, in_driver=NO_TIME):
    """Result packet of what parse_result gives, as an uint8 array of [elements, 24]."""
    outputs, dims = [], []
    for shape, sufficient in shapes:
        outputs.append((bool(sufficient), len(shape)))
        dims.extend(shape)
    outputs, dims = np.array(outputs or np.zeros((0, 2)), np.uint32), np.array(dims, np.uint32)
    packet = np.zeros((2 + len(outputs) + len(dims), DATUM_BYTES), np.uint8)
    cdef unsigned char[:, ::1] at = packet
    cdef const uint32_t[:, ::1] rows = outputs
    cdef const uint32_t[::1] sizes = dims
    nnf_result_build(<nnf_result_datum *>&at[0, 0], len(packet), status,
                     <const nnf_output *>(&rows[0, 0] if len(outputs) else NULL), len(outputs),
                     &sizes[0] if len(dims) else NULL, on_device, in_driver)
    return packet


def _bytes_of(packet):
    data = np.ascontiguousarray(packet).reshape(-1).view(np.uint8)
    if data.size % DATUM_BYTES:
        raise ValueError(f"{data.size} bytes are not a multiple of {DATUM_BYTES}, the size of an element")
    return data
