"""Shared memory for requests and models [NN 5]: memfds, ranges of files, CPU-visible blobs.

Another process may truncate a shared file at any time, and the next access to a mapping of it would kill this process.
So only files that cannot shrink (memfds sealed with F_SEAL_SHRINK) are mapped; all others are read and written through
private copies.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import weakref
from typing import TYPE_CHECKING

import numpy as np

from .. import seals, vlog
from .._native.rings import Mapping, duplicate
from ..checks import chosen_from, flag, is_whole, shown, whole
from ..errors import GeneralFailure, InvalidArgument

if TYPE_CHECKING:
    from typing import Any

    from .. import typed

ASHMEM, MMAP_FD, BLOB = "ashmem", "mmap_fd", "hardware_buffer_blob"
KINDS = (ASHMEM, MMAP_FD, BLOB)
"""Kinds as named in hidl_memory; the first and the last are memfds here, mmap_fd is a range of any file."""

_READ, _WRITE = mmap.PROT_READ, mmap.PROT_WRITE
_LARGEST, _LARGEST_INT = (1 << 63) - 1, (1 << 31) - 1
_PAGE = mmap.ALLOCATIONGRANULARITY


class Memory:
    """`size` bytes from byte `offset` of a file, shared between processes. Use it as a pool of a Request.

        memory = nnfast.Memory.create(4096)
        memory.array()[:4] = 1, 2, 3, 4              # uint8 over the mapping

    kind: one of KINDS. fd: open file descriptor, which is duplicated. prot: PROT_READ | PROT_WRITE bits, and offset,
    are for kind mmap_fd only. Raises InvalidArgument for any other value.
    """

    kind: str
    size: int
    prot: int
    offset: int

    __slots__ = ("kind", "size", "prot", "offset", "_fd", "_mapped", "_held", "__weakref__")

    @vlog.log_errors(vlog.MEMORY, "memory")
    def __init__(self, kind: str, fd: int, size: int, prot: int = _READ | _WRITE, offset: int = 0) -> None:
        self._fd, self._mapped = -1, None
        chosen_from(kind, "memory: kind", KINDS)
        size, offset = whole(size, "memory: size", 1, _LARGEST), whole(offset, "memory: offset", 0, _LARGEST)
        prot, fd = whole(prot, "memory: prot", 0, _LARGEST_INT), whole(fd, "memory: fd", 0, _LARGEST_INT)
        if prot & ~(_READ | _WRITE):
            raise InvalidArgument(f"memory: prot is {prot}, must be a combination of PROT_READ and PROT_WRITE")
        if kind != MMAP_FD and (offset or prot != _READ | _WRITE):
            raise InvalidArgument(f"memory: kind {kind} has no offset and no prot; use {MMAP_FD}")
        self.kind, self.size, self.prot, self.offset = kind, size, prot, offset
        self._held = self._hold("memory: a descriptor", descriptors=1)
        try:
            self._fd = duplicate(fd)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise GeneralFailure(f"memory: descriptor {fd} cannot be copied: {error.strerror}") from None
            raise InvalidArgument(f"memory: {fd} is not an open file descriptor: {error.strerror}") from None

    @classmethod
    @vlog.log_errors(vlog.MEMORY, "memory")
    def create(cls, size: int, kind: str = ASHMEM) -> Memory:
        """New zeroed memory of `size` bytes that nobody can shrink. Raises GeneralFailure if it cannot be allocated."""
        size = whole(size, "memory: size", 1)
        chosen_from(kind, "memory: kind", KINDS)
        try:
            fd = os.memfd_create("nnfast", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            raise GeneralFailure(f"memory of {size} bytes: {error.strerror}") from None
        try:
            os.ftruncate(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            return cls(kind, fd, size)
        except (OSError, OverflowError) as error:
            raise GeneralFailure(f"memory of {shown(size)} bytes: {error}") from None
        finally:
            os.close(fd)

    def fileno(self) -> int:
        """The file descriptor; the Memory keeps ownership."""
        return self._fd

    @property
    def is_sealed(self) -> bool:
        """True if the file is a memfd of ordinary pages that can no longer shrink."""
        return self._fd < 0 or seals.is_sealed(self._fd, seals.SHRINK)  # no descriptor: part of a sealed memory

    def array(self) -> typed.Array:
        """The bytes as a uint8 array [size] over the mapping, writable if the memory is.

        Raises GeneralFailure if the file may shrink, or is too short.
        """
        mapped = self._map()
        if mapped is None:
            raise GeneralFailure("memory: the file may shrink while it is mapped; use a memfd of ordinary pages, "
                                 "sealed with F_SEAL_SHRINK, or read and write")
        return mapped

    def part(self, offset: int, size: int, writable: bool = True) -> Memory:
        """`size` bytes from `offset` as a Memory over the same mapping, without a descriptor of its own.

        writable: False for a part that nothing is written to. Raises InvalidArgument.
        """
        offset, size = self._range(offset, size)
        writable = flag(writable, "memory: writable")
        part = Memory.__new__(Memory)
        part._fd, part.kind, part.size, part.offset = -1, self.kind, size, offset
        part.prot = _READ | _WRITE if writable else _READ
        part._mapped = self.array()[offset:offset + size]
        if not writable:
            part._mapped.flags.writeable = False
        return part

    def open(self) -> Any:
        """The bytes for one execution: an array over the mapping if that is safe, else FileBytes."""
        if self._mapped is None and not self.prot:
            raise GeneralFailure("memory: prot is PROT_NONE, there is nothing to read or write")
        mapped = self._map()
        return FileBytes(self) if mapped is None else mapped

    def _map(self):
        """The mapping, made once and kept, as a sealed file keeps its length; None if the file may shrink."""
        if self._mapped is not None:
            return self._mapped
        found = seals.find(self._fd, seals.SHRINK)
        if found is None:
            return None
        self._check_end(found[1])
        start = self.offset // _PAGE * _PAGE
        length = self.offset - start + self.size
        held = self._hold("memory: a mapping", mapped=length)
        for writable in (True, False) if self.prot & _WRITE else (False,):
            try:
                mapping = Mapping(self._fd, start, length, writable)
            except OSError as error:
                failure = str(error)  # the error would keep this frame, and the frame the error
            else:
                mapping.held = held
                self._mapped = np.frombuffer(mapping, np.uint8, self.size, self.offset - start)
                return self._mapped
        raise GeneralFailure(f"memory: cannot be mapped: {failure}")

    def check_length(self) -> None:
        """Raise GeneralFailure if the file ends before the memory does."""
        try:
            length = os.fstat(self._fd).st_size
        except OSError as error:
            raise GeneralFailure(f"memory: {error.strerror}") from None
        self._check_end(length)

    def _check_end(self, length):
        if length < self.offset + self.size:
            raise GeneralFailure(f"memory: the file has {length} bytes, the memory ends at {self.offset + self.size}")

    def read(self, offset: int, length: int) -> typed.Array:
        """A private copy of `length` bytes from `offset`, uint8; raises GeneralFailure if the file is too short."""
        result = self._room(offset, length)
        self._transfer(os.preadv, result, offset, "ends before it")
        return result

    def _hold(self, what, **counts):
        """Hook for subclasses with quotas: the charge for resources about to be held; kept as long as they are."""
        return ()

    def _room(self, offset, length):
        """A private zeroed buffer for a range."""
        _, length = self._range(offset, length)
        held = self._hold("memory: a copy of what may shrink", memory=length)
        result = np.zeros(length, np.uint8)
        if held:
            weakref.finalize(result, held.clear).atexit = False
        return result

    def write(self, offset: int, array: typed.Array) -> None:
        """Write a C-contiguous array at `offset`; raises GeneralFailure if the file is too short or not writable."""
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous or array.dtype.hasobject:
            raise InvalidArgument(f"memory: cannot be written from {shown(array)}, must be a contiguous numpy array of "
                                  f"plain values")
        offset, _ = self._range(offset, array.nbytes)
        if not self.prot & _WRITE:
            raise GeneralFailure("memory: is read-only")
        self.check_length()
        if fcntl.fcntl(self._fd, fcntl.F_GETFL) & os.O_APPEND:  # pwrite would append, whatever the offset
            raise GeneralFailure("memory: the file is open for appending, so a place in it cannot be written; open it "
                                 "without O_APPEND")
        self._transfer(os.pwritev, array, offset, "takes no more bytes")

    def _range(self, offset, length):
        """Offset and length as int, checked."""
        if not is_whole(offset) or not is_whole(length) or not 0 <= offset <= offset + length <= self.size:
            raise InvalidArgument(f"memory: {shown(length)} bytes from {shown(offset)} must lie in its {self.size} "
                                  f"bytes")
        return int(offset), int(length)

    def _transfer(self, call, array, offset, problem):
        view, done = memoryview(array.reshape(-1).view(np.uint8)), 0
        while done < view.nbytes:
            try:
                moved = call(self._fd, [view[done:]], self.offset + offset + done)
            except OSError as error:
                raise GeneralFailure(f"memory: bytes {offset}..{offset + view.nbytes}: {error.strerror}") from None
            if not moved:
                raise GeneralFailure(f"memory: bytes {offset}..{offset + view.nbytes}: the file {problem}")
            done += moved

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def __repr__(self) -> str:
        return f"<Memory {self.kind} {self.size:,} B{'' if self.is_sealed else ', may shrink'}>"


class FileBytes:
    """Bytes of a memory that may shrink: `read` and `write` copy; `room` is a buffer to write from."""

    def __init__(self, memory):
        memory.check_length()
        self.nbytes, self.writeable = memory.size, bool(memory.prot & _WRITE)
        self.read, self.write, self.room = memory.read, memory.write, memory._room
