"""The client's end of the memory for arrays of calls (service/server/arena.py)."""

from ...driver.memory import Memory
from ..wire.protocol import Arena

_SMALLEST = 1 << 16


class ClientArena:
    """The client's end: grows by being replaced."""

    def __init__(self):
        self.memory, self.bytes, self._is_new = None, None, False

    def reserve(self, size, channel):
        """The bytes of the arena as an array of at least `size`; tells the server of a new one."""
        if self.bytes is None or self.bytes.nbytes < size:
            memory = Memory.create(1 << max(size, _SMALLEST).bit_length())
            channel.send(Arena(memory.size), [memory.fileno()])
            self.memory, self.bytes, self._is_new = memory, memory.array(), True
        return self.bytes

    def settle(self, worked):
        """Note the answer to a call. If the first call on a new arena failed, the arena may be why: replace it."""
        if self._is_new and not worked:
            self.memory, self.bytes = None, None
        self._is_new = False
