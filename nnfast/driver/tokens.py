"""Numbers by which clients name the buffers of a device."""

import threading
import weakref

from ..errors import InvalidArgument
from ..forks import renewed


class Tokens:
    """The live buffers of a device by token; freed tokens are reused, last freed first [NN 6.3]."""

    def __init__(self):
        self._lock = renewed(threading.Lock())
        self._free, self._next = [], 1
        self._live = weakref.WeakValueDictionary()

    def add(self, make):
        """make(token): a new Buffer."""
        with self._lock:
            token = self._free.pop() if self._free else self._next
            self._next = max(self._next, token + 1)
        buffer = make(token)
        self._live[token] = buffer
        weakref.finalize(buffer, self._free.append, token)
        return buffer

    def find(self, token):
        """The live buffer with this token. Raises InvalidArgument if there is none."""
        buffer = self._live.get(token)
        if buffer is None:
            raise InvalidArgument(f"token {token}: no buffer of this device has it")
        return buffer
