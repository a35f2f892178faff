"""Memory for a client's requests: buffers in the driver, and shared memory registered with it."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np

from ... import vlog
from ...driver.buffers import bytes_of_object, dimensions
from ...driver.memory import Memory
from ...errors import InvalidArgument
from ...forks import renewed
from ...model.types import type_name
from ..wire import protocol
from .requests import RemoteMemory

if TYPE_CHECKING:
    from ... import typed


class Memories:
    """Numbers of the nnfast.Memory objects registered with the driver; dropping one unregisters it."""

    def __init__(self, session):
        self._session, self._numbers, self._lock = session, weakref.WeakKeyDictionary(), renewed(threading.Lock())

    def get(self, memory):
        """The number of a memory, or None."""
        return self._numbers.get(memory)

    def keep(self, memory, number):
        """Record the number of a newly registered memory; False if it was registered under another one before."""
        with self._lock:
            if memory in self._numbers:
                return False
            self._numbers[memory] = number
        weakref.finalize(memory, self._session.drop, "memory", number).atexit = False
        return True


class RemoteTokens:
    """The live buffers of a remote device by token."""

    def __init__(self):
        self._live = weakref.WeakValueDictionary()

    def add(self, buffer):
        """Remember a buffer as long as it lives."""
        self._live[buffer.token] = buffer

    def find(self, token):
        """The live buffer of a token. Raises InvalidArgument when there is none."""
        buffer = self._live.get(token)
        if buffer is None:
            raise InvalidArgument(f"token {token}: no buffer of this device has it")
        return buffer


class RemoteBuffer(RemoteMemory):
    """driver.buffers.Buffer in the driver's process: token, dims, shape, copy_from, copy_to."""

    token: int
    dims: tuple[int, ...]
    type: int
    dtype: typed.DType
    is_scalar: bool

    def __init__(self, session, memories, answer):
        self._session, self._memories = session, memories
        self.token, self.type, self.dims = answer.number, answer.type, tuple(answer.dims)
        self.dtype, self.is_scalar = np.dtype(answer.dtype), answer.is_scalar
        weakref.finalize(self, session.drop, "buffer", self.token).atexit = False

    def as_pool(self, session, path):
        if session is not self._session:
            raise InvalidArgument(f"{path}: the buffer is of another device, or of a session that has ended")
        return protocol.Pool("buffer", self.token)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the value, or None while there is none."""
        return self._session.call(protocol.GetBuffer(self.token)).shape

    def start_writing(self) -> None:
        """The buffer has no value from now on."""
        self._session.call(protocol.WriteBuffer(self.token, None))

    @vlog.log_errors(vlog.MEMORY, "copy_from")
    def copy_from(self, source: typed.Buffer | Memory, dims: typed.Dims = ()) -> None:
        """As Buffer.copy_from."""
        try:
            dims = dimensions(dims, f"buffer {self.token} copy_from:")
        except InvalidArgument:
            self.start_writing()  # a failed copy leaves no value
            raise
        self._copy(source, False, lambda pool: protocol.WriteBuffer(self.token, pool, dims))

    @vlog.log_errors(vlog.MEMORY, "copy_to")
    def copy_to(self, target: typed.Buffer | Memory) -> None:
        """As Buffer.copy_to."""
        self._copy(target, True, lambda pool: protocol.ReadBuffer(self.token, pool))

    def _copy(self, memory, out, message):
        """A copy between the buffer and memory of the client."""
        session = self._session
        raw = None if isinstance(memory, Memory) else bytes_of_object(memory, "copy_to target" if out else
                                                                      "copy_from source", out)
        connection = session.take()
        try:
            if raw is None:
                number, known = self._memories.get(memory), True
                if number is None:
                    number, known = next(session.numbers), False
                    connection.tell(protocol.AddMemory(number, memory.kind, memory.size, memory.prot, memory.offset),
                                    [memory.fileno()])
                try:
                    connection.call(message(protocol.Pool("memory", number)))
                except BaseException:
                    if not known:
                        session.drop("memory", number)
                    raise
                if not known and not self._memories.keep(memory, number):
                    session.drop("memory", number)
                return
            arena = connection.reserve(max(1, raw.nbytes))
            if not out:
                arena[:raw.nbytes] = raw
            connection.call(message(protocol.Pool("arena", 0, raw.nbytes)))
            if out:
                raw[:] = connection.arena.bytes[:raw.nbytes]
        finally:
            session.give(connection)

    def __repr__(self):
        return f"<RemoteBuffer {self.token} {type_name(self.type)} {list(self.dims)}>"
