"""A queue of fixed-size elements between two processes: libfmq's MessageQueue, synchronized flavour [NN 4.13].

One writer, one reader; each may be in another process, or in another thread of this one.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
import time
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from .. import vlog
from .._native.rings import NOW, REASONS, Mapping, Ring, duplicate
from ..checks import dtype as checked_dtype
from ..checks import flag, shown
from ..errors import InvalidArgument, ResourceExhaustedTransient
from . import descriptor as layout
from .descriptor import Descriptor, Grantor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from numpy.typing import DTypeLike

    from .. import typed

_LINE = 128
"""Bytes between what different sides write: a cache line, and the one that is fetched along with it."""
_MOST = 1 << 40
"""Bytes of data, at most."""
_LONGEST_SECONDS = 1e9
_PAGE = mmap.ALLOCATIONGRANULARITY


class MessageQueue:
    """Elements of one dtype, in order, all or none of a call.

    Made by `create`, or by `attach` from the descriptor of another queue. Calls that read or write say how it went:
    "ok", "timeout" (no room, or too few elements), "closed" (by `close` on this side), "too_big" (more than `capacity`)
    or "broken" (the other side wrote impossible counters: nothing can be read or written any more).
    timeout: seconds, 0 for not waiting, None for as long as it takes. spin_us: spin so long before sleeping. Waiting
    needs an event flag, else InvalidArgument.
    """

    descriptor: Descriptor
    dtype: typed.DType
    capacity: int
    has_event_flag: bool

    def __init__(self, descriptor: Descriptor, dtype: DTypeLike, fds: Sequence[int], reset: bool) -> None:
        self._fds = fds
        self.dtype = dtype
        try:
            self.descriptor = Descriptor(descriptor.grantors, tuple(fds), descriptor.quantum, descriptor.flavor)
            layout.check(self.descriptor, dtype.itemsize)
            maps = _map(self.descriptor)
            pieces = [(maps[g.fd_index], g.offset) for g in descriptor.grantors]
            data = descriptor.grantors[layout.DATA]
            self._ring = Ring((*pieces, *[None] * (4 - len(pieces))), data.extent, dtype.itemsize)
            self._data = np.frombuffer(pieces[layout.DATA][0], np.uint8, data.extent, data.offset)
            if reset:
                for memory, offset in pieces[:layout.DATA]:
                    np.frombuffer(memory, np.uint64, 1, offset)[0] = 0
        except BaseException:
            self._release()
            raise
        self.capacity = data.extent // dtype.itemsize
        self.has_event_flag = len(pieces) > layout.EVENT

    @classmethod
    @vlog.log_errors(vlog.MEMORY, "message queue")
    def create(cls, dtype: DTypeLike, capacity: int, event_flag: bool = True) -> MessageQueue:
        """A new queue that holds `capacity` elements. Raises ResourceExhaustedTransient when there is no memory.

            queue = nnfast.fmq.MessageQueue.create(nnfast.fmq.REQUEST_DATUM, 1024)

        dtype: of the elements; event_flag: whether either side may wait for the other.
        """
        dtype, event_flag = _element(dtype), flag(event_flag, "message queue: event_flag")
        if not _is_whole(capacity) or not 1 <= capacity <= _MOST // dtype.itemsize:
            raise InvalidArgument(f"message queue: capacity is {shown(capacity)}, must be a whole number from 1 to "
                                  f"{_MOST // dtype.itemsize:,}")
        extents = {layout.READ: 8, layout.WRITE: 8, layout.EVENT: 4, layout.DATA: int(capacity) * dtype.itemsize}
        # The data comes last: a grantor's offset has 32 bits, its extent 64.
        offsets = {place: i * _LINE for i, place in enumerate(extents)}
        grantors = [Grantor(0, 0, offsets[place], extents[place]) for place in range(4 if event_flag else 3)]
        end = offsets[layout.DATA] + extents[layout.DATA]
        fd = -1
        try:
            fd = os.memfd_create("nnfast_fmq", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(fd, -(-end // _PAGE) * _PAGE)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            raise ResourceExhaustedTransient(f"message queue of {end:,} bytes: {error.strerror}") from None
        return cls(Descriptor(tuple(grantors), (fd,), dtype.itemsize), dtype, [fd], False)

    @classmethod
    @vlog.log_errors(vlog.MEMORY, "message queue")
    def attach(cls, descriptor: Descriptor, dtype: DTypeLike, reset: bool = False) -> MessageQueue:
        """The queue of a descriptor, whose files are copied. Raises InvalidArgument for what cannot be one.

        reset: set both counters to 0, as libfmq does unless told otherwise; only before the first write.
        """
        dtype = _element(dtype)
        reset = flag(reset, "message queue: reset")
        if not isinstance(descriptor, Descriptor):
            raise InvalidArgument(f"message queue: {shown(descriptor)} is not a Descriptor")
        fds = []
        try:
            for fd in descriptor.fds:
                fds.append(duplicate(fd))
        except (OSError, TypeError, ValueError, OverflowError) as error:
            for copy in fds:
                os.close(copy)
            raise InvalidArgument(f"message queue: file {len(fds)}: {error}") from None
        return cls(descriptor, dtype, fds, reset)

    @property
    def ring(self) -> Any:
        """The native ring (`_native.rings.Ring`), for loops that run without the GIL."""
        return self._ring

    def readable(self) -> int:
        """Elements that can be read; -1 when the queue is broken. For the two sides, not for onlookers."""
        return self._ring.readable()

    def writable(self) -> int:
        """Elements for which there is room; -1 when the queue is broken."""
        return self._ring.writable()

    # -- with copies -------------------------------------------------------------------------------------------------
    def write(self, elements: typed.Array, timeout: float | None = 0, spin_us: int = 0) -> str:
        """Write an array of elements (any shape, in its order), all or none, and wake the reader; the reason."""
        if not isinstance(elements, np.ndarray) or elements.dtype != self.dtype:
            raise InvalidArgument(f"message queue: elements are {_kind(elements)}, must be an array of {self.dtype}")
        octets = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
        return REASONS[self._ring.write(octets, elements.size, *self._patience(timeout, spin_us))]

    def read(self, n: int, timeout: float | None = 0, spin_us: int = 0) -> tuple[str, typed.Array | None]:
        """(reason, array of the next n elements, or None unless ok); wakes the writer."""
        n = _count(n)
        patience = self._patience(timeout, spin_us)
        if n > self.capacity:
            return "too_big", None
        octets = np.empty(n * self.dtype.itemsize, np.uint8)  # a structured array would take ten times as long
        outcome = self._ring.read(octets, n, *patience)
        return REASONS[outcome], None if outcome else np.ndarray(n, self.dtype, octets)

    def wait_readable(self, n: int = 1, timeout: float | None = None, spin_us: int = 0) -> str:
        """Wait until n elements can be read; the reason."""
        return REASONS[self._ring.wait(False, _count(n), *self._patience(timeout, spin_us))]

    def wait_writable(self, n: int = 1, timeout: float | None = None, spin_us: int = 0) -> str:
        """Wait until there is room for n elements; the reason."""
        return REASONS[self._ring.wait(True, _count(n), *self._patience(timeout, spin_us))]

    # -- without -----------------------------------------------------------------------------------------------------
    def begin_write(self, n: int) -> tuple[str, tuple[typed.Array, ...]]:
        """(reason, one array or two, where the ring wraps, of n elements to fill in). Nobody sees them before
        `commit_write`. Does not wait."""
        return self._begin(True, n)

    def commit_write(self, n: int) -> None:
        """Publish the first n of them and wake the reader."""
        self._ring.commit(True, _count(n))

    def begin_read(self, n: int) -> tuple[str, tuple[typed.Array, ...]]:
        """(reason, one array or two over the next n elements). The other side can change them all the time: copy, then
        check. Does not wait."""
        return self._begin(False, n)

    def commit_read(self, n: int) -> None:
        """Give the first n of them back and wake the writer."""
        self._ring.commit(False, _count(n))

    def _begin(self, writing, n):
        n = _count(n)
        outcome, places = self._ring.begin(writing, n)
        views = tuple(self._data[start:start + count * self.dtype.itemsize].view(self.dtype) for start, count in places)
        return REASONS[outcome], views

    # -- event flag --------------------------------------------------------------------------------------------------
    def wake(self, mask: int) -> None:
        """Wake those who wait for these bits: NOT_FULL (writers), NOT_EMPTY (readers)."""
        if not _is_whole(mask) or not 0 < mask < 1 << 32:
            raise InvalidArgument(f"message queue: mask is {shown(mask)}, must be a combination of NOT_FULL and "
                                  f"NOT_EMPTY")
        self._ring.wake(int(mask))

    def close(self) -> None:
        """Give up this side: calls that wait here, and all later ones, say "closed". The memory goes with the last
        reference; the descriptor's files are closed now. The other side does not notice."""
        if not self._ring.is_closed:
            self._ring.close()
            self._release()

    def _release(self):
        fds, self._fds = self._fds, []
        for fd in fds:
            os.close(fd)

    def _patience(self, timeout, spin_us):
        """(deadline in nanoseconds, microseconds to spin) for the ring."""
        if not _is_whole(spin_us) or not 0 <= spin_us < 1 << 31:
            raise InvalidArgument(f"message queue: spin_us is {shown(spin_us)}, must be microseconds")
        if type(timeout) in (int, float) and timeout == 0:
            return NOW, 0
        if not self.has_event_flag:
            raise InvalidArgument("message queue: has no event flag, so that nobody can wait; use timeout=0")
        if timeout is None:
            return 0, int(spin_us)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
            raise InvalidArgument(f"message queue: timeout is {shown(timeout)}, must be seconds, or None")
        return _deadline(timeout), int(spin_us)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fds", None):
            self._release()

    def __repr__(self) -> str:
        state = "closed" if self._ring.is_closed else f"{self.readable():,} to read"
        return f"<MessageQueue {self.capacity:,} x {self.dtype.itemsize} B, {state}>"


def _deadline(timeout):
    """Nanoseconds of the monotonic clock, at which so many seconds have passed."""
    return time.monotonic_ns() + int(min(timeout, _LONGEST_SECONDS) * 1e9)


def _element(dtype):
    dtype = checked_dtype(dtype, "message queue: dtype")
    if dtype.hasobject or dtype.itemsize == 0:
        raise InvalidArgument(f"message queue: dtype is {dtype}, elements must be plain bytes")
    return dtype


def _is_whole(value):
    return type(value) is int or isinstance(value, Integral) and not isinstance(value, bool)


def _count(n):
    if not _is_whole(n) or not 0 <= n < 1 << 63:
        raise InvalidArgument(f"message queue: number of elements is {shown(n)}, must be a whole number")
    return int(n)


def _kind(value):
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def _map(descriptor):
    """The files of a checked descriptor, each mapped as far as its last piece goes."""
    maps = []
    for index, fd in enumerate(descriptor.fds):
        end = max((g.offset + g.extent for g in descriptor.grantors if g.fd_index == index), default=0)
        try:
            maps.append(Mapping(fd, 0, end, True) if end else None)
        except (OSError, ValueError, OverflowError) as error:
            raise InvalidArgument(f"message queue: file {index} cannot be mapped for writing: {error}") from None
    return maps
