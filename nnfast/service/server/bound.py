"""Repeated executions: the connection's Receiver learns the exact message of a call, and from then on answers it
without the GIL (`nnfast._native.rings`).
"""

from itertools import takewhile

import numpy as np

from ..._native.rings import KnownCall
from ...driver.form import is_checked
from ...driver.memory import Memory
from ...extras import msgspec
from ..wire import protocol
from ..wire.records import encode

_TIMES = 0x41414141, 0x52525252
"""Two durations that differ in each byte: their position in an encoded answer shows where the timings go."""


def learn_run(connection, held, message, generation, inputs, outputs):
    """Learn a Run whose results lie in the arena, unless it has a deadline or a stream. generation: the session's,
    from before the call looked up its objects.
    """
    if message.deadline is not None or message.stream or not _is_plain(held.prepared, inputs):
        return
    first, second = (encode(msgspec.structs.replace(message, call=call)) for call in (0, 1))
    at = _difference(first, second)
    results = [protocol.Result(offset, array.shape) for offset, array in zip(message.outputs, outputs)]
    answers = [encode(protocol.Results(results, time)) for time in _TIMES]
    _learn(connection, held, generation, inputs, outputs, first[:at], first[at + 1:], answers[0],
           (_difference(*answers),))


def learn_request(connection, held, message, generation, request, arguments, answer):
    """Learn an Execute on memory that cannot shrink, unless it has a deadline or is a launch."""
    prepared = held.prepared
    if message.deadline is not None or message.launch or not prepared.is_plain:
        return
    if not all(isinstance(pool, Memory) and pool.is_sealed for pool in request.pools):
        return
    outputs = arguments.placed([info.operand for info in prepared.outputs])
    inputs = [arguments.inputs.get(info.operand) for info in prepared.inputs]
    if outputs is None or not _is_plain(prepared, inputs) or \
            not all(any(np.may_share_memory(array, pool.array()) for pool in request.pools) for array in inputs):
        return
    spent, other = _TIMES
    pairs = ((spent, spent), (other, spent), (spent, other)) if message.measure_timing else ((None, None),)
    answers = [encode(protocol.Executed(answer.shapes, pair, answer.sizes)) for pair in pairs]
    _learn(connection, held, generation, inputs, outputs, encode(message), None, answers[0],
           tuple(_difference(answers[0], answer) for answer in answers[1:]))


def _is_plain(prepared, inputs):
    """True if the program reads all inputs in place: none must be copied first to protect it from changes."""
    return prepared.executor.runner is not None and not any(
        array is None or is_checked(info) for info, array in zip(prepared.inputs, inputs))


def _learn(connection, held, generation, inputs, outputs, head, tail, answer, times):
    run = held.prepared.executor.runner.bind(inputs, list(outputs))
    if run is None or connection.receiver.is_known() or generation != connection.session.generation:
        return
    connection.receiver.keep(KnownCall(run, held.runs, head, tail, answer, times))


def _difference(first, second):
    """Offset of the first difference of two encodings."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second)))
