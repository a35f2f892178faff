"""The burst tests of kind `validation` [NN 11.12]: packets that are wrong in one element, all on the same burst."""

import numpy as np

from .._native.rings import NO_TIME, build_request, parse_result
from ..driver.memory import Memory as SharedMemory
from ..errors import Error, ErrorStatus, InvalidArgument
from ..fmq import REQUEST_DATUM, RESULT_DATUM, MessageQueue, RequestTag, ResultTag
from .canonical_face import PATIENCE_SECONDS, shared_copy
from .verdict import Fail, describe

CAPACITY, SHORT_CAPACITY = 1024, 8
_REFUSED = [], NO_TIME, NO_TIME
_DIMENSIONS = (RequestTag.inputOperandDimensionValue, RequestTag.outputOperandDimensionValue)


def _datum(tag, *numbers):
    row = np.zeros(24, np.uint8)
    row[0] = tag
    row[4:4 + 4 * len(numbers)] = np.array(numbers, np.uint32).view(np.uint8)
    return row


BAD = (_datum(RequestTag.packetInformation, 10, 10, 10, 10), _datum(RequestTag.inputOperandInformation, 0, 0, 0, 0, 10),
       _datum(RequestTag.inputOperandDimensionValue, 0), _datum(RequestTag.outputOperandInformation, 0, 0, 0, 0, 10),
       _datum(RequestTag.outputOperandDimensionValue, 0), _datum(RequestTag.poolIdentifier, 2147483647),
       _datum(RequestTag.measureTiming, 1))
"""The seven wrong elements of [NN 11.12]."""


class RawBurst:
    """A client that sends any packet; a context. configure(get_memories, requests, results) makes the burst's context.

    memories: {slot: Memory} that the driver may ask for; asked: the slots of every such call.
    """

    def __init__(self, configure, memories=None, result_capacity=CAPACITY):
        self.memories, self.asked = dict(memories or {}), []
        self.requests = MessageQueue.create(REQUEST_DATUM, CAPACITY)
        self.results = MessageQueue.create(RESULT_DATUM, result_capacity)
        self.context = configure(self._get, self.requests.descriptor, self.results.descriptor)

    def _get(self, slots):
        self.asked.append(list(slots))
        if not all(slot in self.memories for slot in slots):
            raise InvalidArgument(f"slots are {list(slots)}, there are {list(self.memories)}")
        return [self.memories[slot] for slot in slots]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.context.close()

    def send(self, packet):
        """Write the rows of a packet."""
        reason = self.requests.write(np.ascontiguousarray(packet).reshape(-1).view(REQUEST_DATUM))
        if reason != "ok":
            raise Fail(f"the request queue does not take {len(packet)} elements: {reason}")

    def receive(self):
        """The rows of the next result packet."""
        reason = self.results.wait_readable(1, PATIENCE_SECONDS)
        if reason != "ok":
            raise Fail(f"no result packet: {reason}")
        _, elements = self.results.read(self.results.readable())
        return elements.view(np.uint8).reshape(-1, 24)

    def exchange(self, packet):
        """(status, shapes, time on device, time in driver) of the one answer to a packet."""
        self.send(packet)
        answer = parse_result(self.receive())
        if self.results.readable():
            raise Fail(f"{self.results.readable()} elements follow the result packet")
        return answer


def packet_of(request, slots, measure=True):
    """Packet of a canonical request, whose pools have these slots."""
    rows = ([(a.has_no_value, a.pool, a.offset, a.length, a.dims) for a in arguments]
            for arguments in (request.inputs, request.outputs))
    return build_request(*rows, slots, measure)


def mutated(packet):
    """(rule, where, packet) of every mutation: an element removed, a bad one inserted, one replaced."""
    for at in range(len(packet)):
        yield "burst datum removed", str(at), np.delete(packet, at, axis=0)
    for at in range(len(packet) + 1):
        for number, bad in enumerate(BAD):
            yield "burst datum inserted", f"{number} at {at}", np.insert(packet, at, bad, axis=0)
    for at in range(len(packet)):
        for number, bad in enumerate(BAD):
            if bytes(packet[at]) == bytes(bad) or (packet[at, 0] == bad[0] and bad[0] in _DIMENSIONS):
                continue
            changed = packet.copy()
            changed[at] = bad
            yield "burst datum replaced", f"{at} by {number}", changed


def validate(configure, request):
    """(rule, where, function that raises Fail when it goes wrong) of the burst tests for a valid request."""
    pools = [pool if isinstance(pool, SharedMemory) else shared_copy(pool) for pool in request.pools]
    slots = dict(enumerate(pools))
    packet = packet_of(request, list(slots))
    with RawBurst(configure, slots) as burst:
        for rule, where, wrong in mutated(packet):
            if len(wrong) <= CAPACITY:
                yield rule, where, lambda wrong=wrong: must_fail(burst.exchange(wrong))
        yield "burst result sanitized", "", lambda: _check_padding(burst, packet)
        yield "burst memories freed", "", lambda: _free(burst, packet)
        yield "burst result queue short", "", lambda: _short(configure, slots, burst, packet)


def must_fail(answer):
    """Refuse an answer that is not a failure without shapes and times."""
    status, *rest = answer
    if status == ErrorStatus.NONE:
        raise Fail("gave NONE, must fail")
    if tuple(rest) != _REFUSED:
        raise Fail(f"gave {ErrorStatus(status).name} with shapes or times: {rest}")


def _check_padding(burst, packet):
    burst.send(packet)
    for row in burst.receive():
        if row[1:8].any() or (row[0] == ResultTag.operandInformation and row[9:12].any()):
            raise Fail(f"padding of a result element is not zero: {row.tolist()}")


def _free(burst, packet):
    """Memories freed, freed again and never known: no harm, and the burst goes on."""
    before = burst.exchange(packet)
    for slot in (*burst.memories, *burst.memories, 12345, -1):
        burst.context.free_memory(slot)
    after = burst.exchange(packet)
    if after[:2] != before[:2]:
        raise Fail(f"after freeMemory the answer is {after[:2]}, was {before[:2]}")


def _short(configure, slots, burst, packet):
    burst.send(packet)
    rows = burst.receive()
    if parse_result(rows)[0] == ErrorStatus.NONE and len(rows) > SHORT_CAPACITY:
        with RawBurst(configure, slots, SHORT_CAPACITY) as short:
            must_fail(short.exchange(packet))


def count(part, problems, configure, request):
    """Run the burst tests; count them under their rules and describe what went wrong."""
    for rule, where, call in validate(configure, request):
        row = part.tally.setdefault(rule, [0, 0, 0, 0])
        row[0] += 1
        try:
            call()
        except Fail as fail:
            row[2] += 1
            problems.append(f"{rule}, {where}: {fail}")
        except Error as error:
            row[3] += 1
            problems.append(f"{rule}, {where}: {describe(error)}")
        else:
            row[1] += 1
