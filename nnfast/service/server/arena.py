"""Arrays of calls in shared memory: each connection has one sealed memfd, which the client creates and both sides map.

The client can change it at any time, as any shared memory, so indexes and sizes are copied before they are checked.
"""

import numpy as np

from ...alignment import LINE
from ...errors import InvalidArgument
from .held_memory import HeldMemory


class ServerArena:
    """The server's end; its memory is None until the client sends an arena. client: whose quota it counts against."""

    def __init__(self, client):
        self.memory, self._client = None, client

    def adopt(self, message, fds):
        """Take over the arena of an Arena message. Raises InvalidArgument."""
        if len(fds) != 1:
            raise InvalidArgument(f"service: an arena comes with one descriptor, got {len(fds)}")
        memory = HeldMemory(self._client, "ashmem", fds[0], message.size)
        if not memory.is_sealed:
            raise InvalidArgument("service: the arena can be shortened; use a memfd of ordinary pages, sealed with "
                                  "F_SEAL_SHRINK")
        memory.array()
        self.memory = memory

    def array(self, path, place, dtype):
        """The array at a Place. Raises InvalidArgument if it lies outside the arena, or numpy has no such shape."""
        shape = place.shape
        nbytes = dtype.itemsize
        for dim in shape:
            if dim < 0:
                raise InvalidArgument(f"{path}: shape is {list(shape)}")
            nbytes *= dim
        flat = self.region(path, place.offset, nbytes).view(dtype)
        try:
            return flat.reshape(shape)
        except ValueError as e:  # too many dimensions, or beside one of 0 dimensions that no array has
            raise InvalidArgument(f"{path}: shape is {list(shape)}: {e}") from e

    def region(self, path, offset, nbytes):
        """Bytes of the arena."""
        size = 0 if self.memory is None else self.memory.size
        if offset % LINE or not 0 <= offset <= offset + nbytes <= size:
            raise InvalidArgument(f"{path}: bytes {offset}..{offset + nbytes} do not lie in the arena of {size}")
        return np.empty(0, np.uint8) if self.memory is None else self.memory.array()[offset:offset + nbytes]

    def pool(self, path, offset, size, writable):
        """A part of the arena as a nnfast.Memory."""
        if self.memory is None or not 0 <= offset <= offset + size <= self.memory.size:
            raise InvalidArgument(f"{path}: bytes {offset}..{offset + size} do not lie in the arena")
        return self.memory.part(offset, size, writable)
