"""Requests that a client sends again and again: bound once to the shared memory that they name, then only run."""

import numpy as np

from .. import observe
from .._native.threads import now_ns
from ..driver.memory import Memory
from ..driver.pools import CHECKED_TYPES
from ..model.types import Definition
from . import protocol

KEPT = 16
LONGEST = 2048
"""Bytes of a message that is kept to know it again."""


class BoundRequests:
    """The last requests of one connection, by the bytes of their messages."""

    def __init__(self):
        self._kept = {}

    def find(self, session, packet):
        """The Bound of a message, or None. What the client has released since may be among its memories."""
        bound = self._kept.get(packet)
        if bound is None or observe.watchers or bound.generation != session.generation:
            return None
        return bound

    def clear(self):
        """Let go of all memory."""
        self._kept.clear()

    def keep(self, packet, bound):
        """Know a message again; bound: None where that is of no use."""
        if bound is not None and len(packet) <= LONGEST:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[packet] = bound


class Bound:
    """Arrays of one request over memory that stays mapped, and the answer."""

    __slots__ = ("held", "generation", "_inputs", "_outputs", "_answer")

    def __init__(self, held, generation, inputs, outputs, answer):
        self.held, self.generation = held, generation
        self._inputs, self._outputs, self._answer = inputs, outputs, answer

    def run(self, session, seen, measure_timing):
        """Execute it once more: its answer, or None where only the long way can tell what happens."""
        flag = session.begin()
        try:
            began = now_ns()
            if self.held.prepared._runner.run(self._inputs, self._outputs) is None:
                return None
            ended = now_ns()
        finally:
            session.end(flag)
        session.ended(began, ended, self.held)
        if not measure_timing:
            return self._answer
        timing = (ended - began) // 1000, (now_ns() - seen) // 1000
        return protocol.Executed(self._answer.shapes, timing, self._answer.sizes)


def bind_again(session, held, message, request, arguments, answer):
    """The Bound of a request that has just been executed, or None where every execution must look at it anew.

    That is so for deadlines, buffers, memory that may shrink, and values that are copied before they are checked.
    """
    prepared = held.prepared
    if message.deadline is not None or prepared._runner is None or not prepared.is_plain or not held.is_quick:
        return None
    if not all(isinstance(pool, Memory) and kind.kind == "memory" and pool.is_sealed
               for pool, kind in zip(request.pools, message.pools)):
        return None
    outputs = arguments.placed([info.operand for info in prepared.outputs])
    inputs = [arguments.inputs.get(info.operand) for info in prepared.inputs]
    if outputs is None or any(array is None for array in inputs):
        return None
    for info, array in zip(prepared.inputs, inputs):
        if info.type in CHECKED_TYPES or isinstance(info.type, Definition) or \
                not any(np.may_share_memory(array, pool.array()) for pool in request.pools):
            return None
    timeless = protocol.Executed(answer.shapes, (None, None), answer.sizes)
    return Bound(held, session.generation, inputs, outputs, timeless)
