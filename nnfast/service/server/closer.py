"""Closing what came from processes that have no session (yet), without waiting for it.

To close a descriptor of somebody else may take as long as that one likes: it may be the last reference to a socket that
lingers, or to a file of a file system in user space; a connection that is closed takes along the descriptors that it
still carries. So each process's descriptors are closed on a thread of their own.
"""

import logging
import threading
from collections import deque

from ...forks import renewed

log = logging.getLogger("nnfast.service")


class Closer:
    """Closes things in the background; those of one process in order, those of different processes independently."""

    def __init__(self):
        self._lock = renewed(threading.Lock())
        self._queues, self._busy = {}, set()  # process: what is to be closed; processes that have a thread

    def close(self, pid, close):
        """Call close() on the thread for a process."""
        with self._lock:
            self._queues.setdefault(pid, deque()).append(close)
            if pid in self._busy:
                return
            self._busy.add(pid)
        try:
            threading.Thread(target=self._work, args=(pid,), name="nnfast-closer", daemon=True).start()
        except RuntimeError:  # no thread can be started now: the process's next one tries again
            with self._lock:
                self._busy.discard(pid)

    def _work(self, pid):
        while (close := self._next(pid)) is not None:
            try:
                close()
            except OSError as error:  # of the file's owner; the descriptor is closed all the same
                log.debug("a descriptor of process %d was closed with an error: %s", pid, error.strerror)
            del close

    def _next(self, pid):
        """What to close next; None when the thread must end."""
        with self._lock:
            queue = self._queues[pid]
            if queue:
                return queue.popleft()
            del self._queues[pid]
            self._busy.discard(pid)
            return None
