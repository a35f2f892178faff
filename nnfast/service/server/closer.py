"""Closes descriptors from processes without a session, in the background.

Closing a foreign descriptor may block as long as its owner likes: it may be the last reference to a lingering socket or
to a file on a FUSE file system, and closing a connection closes the descriptors still queued in it. So the descriptors
of each process are closed on their own thread.
"""

import logging
import threading
from collections import deque

from ...forks import renewed

log = logging.getLogger("nnfast.service")


class Closer:
    """Closes things in the background: in order for one process, independently for different ones."""

    def __init__(self):
        self._lock = renewed(threading.Lock())
        self._queues, self._busy = {}, set()  # pid: what to close; pids that have a thread

    def close(self, pid, close):
        """Call close() on the thread for a process."""
        with self._lock:
            self._queues.setdefault(pid, deque()).append(close)
            if pid in self._busy:
                return
            self._busy.add(pid)
        try:
            threading.Thread(target=self._work, args=(pid,), name="nnfast-closer", daemon=True).start()
        except RuntimeError:  # no thread can be started now: the next `close` for this process tries again
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
        """What to close next; None if the thread must end."""
        with self._lock:
            queue = self._queues[pid]
            if queue:
                return queue.popleft()
            del self._queues[pid]
            self._busy.discard(pid)
            return None
