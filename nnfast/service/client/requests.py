"""Requests and arrays of a client as messages: their places in the arena, and the copies in and out."""

import os
from abc import ABC, abstractmethod
from math import prod

import numpy as np

from ...alignment import align
from ...checks import kind_of
from ...driver.buffers import Buffer
from ...driver.memory import ASHMEM, Memory
from ...driver.pools import bytes_of
from ...driver.request import Request
from ...errors import InvalidArgument
from ..wire import protocol
from ..wire.records import ATTACHED, INLINE


class Outgoing:
    """One request in transit: pools of plain memory go through the arena, shared memory is named by number.

    memories: buffers.Memories. lasting: the call ends before the execution, so plain memory needs its own shared memory
    instead of the arena. Raises InvalidArgument for anything but a request, or for memory of another device.
    """

    def __init__(self, session, request, memories, lasting=False):
        if not isinstance(request, Request):
            raise InvalidArgument(f"execute: got {kind_of(request)}, must be a Request")
        self.request, self._memories, self._lasting = request, memories, lasting
        self._new, self._copied = [], {}  # (memory, number) to register; pool place: (start, array, memory)
        self.size, self.pools = 0, []
        for place, pool in enumerate(request.pools):
            self.pools.append(self._pool(session, place, pool))
        self.inputs, self.outputs = ([_argument(argument) for argument in arguments]
                                     for arguments in (request.inputs, request.outputs))

    def _pool(self, session, place, pool):
        if isinstance(pool, RemoteMemory):
            return pool.as_pool(session, f"request pool {place}")
        if isinstance(pool, Buffer):
            raise InvalidArgument(f"request pool {place}: the buffer is of another device")
        if isinstance(pool, Memory):
            number = self._memories.get(pool)
            if number is None:
                number = self._introduce(session, pool)
            return protocol.Pool("memory", number)
        array = bytes_of(place, pool)
        if self._lasting and array.nbytes and array.flags.writeable:
            memory = Memory.create(array.nbytes)
            self._copied[place] = 0, array, memory.array()
            return protocol.Pool("memory", self._introduce(session, memory))
        start, self.size = self.size, align(self.size + array.nbytes)
        self._copied[place] = start, array, None
        return protocol.Pool("arena", start, array.nbytes, bool(array.flags.writeable))

    def _introduce(self, session, memory):
        number = next(session.numbers)
        self._new.append((memory, number))
        return number

    @property
    def is_copied(self):
        """True if some pool is plain memory."""
        return bool(self._copied)

    def send_in(self, connection):
        """Copy what the request reads into shared memory, and register new memories with the driver."""
        for memory, number in self._new:
            connection.tell(protocol.AddMemory(number, memory.kind, memory.size, memory.prot, memory.offset),
                            [memory.fileno()])
        if self._copied:
            arena = connection.reserve(self.size)
            for argument in self.request.inputs:
                for ours, theirs in self._regions(argument, arena, argument.length):
                    theirs[:] = ours

    def copy_out(self, arena, sizes):
        """Copy the results out of shared memory. arena: its bytes; sizes: bytes of each output."""
        for argument, nbytes in zip(self.request.outputs, sizes):
            for ours, theirs in self._regions(argument, arena, min(nbytes, argument.length)):
                ours[:] = theirs

    def _regions(self, argument, arena, nbytes):
        """(bytes in the client's pool, the same in shared memory) of an argument whose location is valid."""
        if argument.has_no_value or argument.pool not in self._copied:
            return
        start, array, own = self._copied[argument.pool]
        if 0 <= argument.offset <= argument.offset + argument.length <= array.nbytes:
            shared, at = (arena, start + argument.offset) if own is None else (own, argument.offset)
            yield array[argument.offset:argument.offset + nbytes], shared[at:at + nbytes]

    def settle(self, session, known):
        """Note the answer. known: the request was accepted, so the driver has the new memories."""
        for memory, number in self._new:
            if not known or not self._memories.keep(memory, number):
                session.drop("memory", number)


def _argument(argument):
    return protocol.Argument(argument.pool, argument.offset, argument.length, tuple(argument.dims),
                             argument.has_no_value)


class RemoteMemory(ABC):
    """Base of objects that stand for memory in the driver; see RemoteBuffer."""

    @abstractmethod
    def as_pool(self, session, path):
        """The Pool of a request. Raises InvalidArgument for another session's."""


class Arrays:
    """Arrays of one call of `run` in the arena: inputs first, then room for results of known shapes."""

    def __init__(self, inputs, outputs):
        self.places, at = [], 0
        for array in inputs:
            self.places.append(None if array is None else protocol.Place(at, array.shape))
            at = align(at + (0 if array is None else array.nbytes))
        self.offsets = None
        if outputs is not None:
            self.offsets = []
            for shape, dtype in outputs:
                self.offsets.append(at)
                at = align(at + prod(shape) * dtype.itemsize)
        self.size = at

    def send_in(self, connection, inputs):
        """Copy the inputs into the arena."""
        arena = connection.reserve(self.size)
        for place, array in zip(self.places, inputs):
            if place is not None and array.nbytes:
                arena[place.offset:place.offset + array.nbytes] = array.reshape(-1).view(np.uint8)


def results_of(connection, answer, fds, dtypes, out):
    """Arrays of a Results message, from wherever they are: fresh ones, or `out` where it fits."""
    attached, arrays = None, []
    for place, (result, dtype) in enumerate(zip(answer.arrays, dtypes)):
        array = np.empty(result.shape, dtype) if out is None or result.offset < 0 else out[place]
        flat = array.reshape(-1).view(np.uint8)
        if result.offset >= 0:
            flat[:] = connection.arena.bytes[result.offset:result.offset + flat.nbytes]
        elif result.offset == INLINE:
            flat[:] = np.frombuffer(result.data, np.uint8)
        elif flat.nbytes:
            if attached is None:
                attached = Memory(ASHMEM, fds[0], os.fstat(fds[0]).st_size)
            flat[:] = attached.read(ATTACHED - result.offset, flat.nbytes)
        arrays.append(array)
    return arrays
