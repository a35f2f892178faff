"""Pool of a client's call connections: idle ones are reused, waiters are served in order."""

import socket
import threading
import time
from collections import deque

from ...forks import renewed

NARROW_SECONDS = 1.0
"""Time during which a session opens no further connection after the driver refused one."""


class _Waiter:
    """A waiting call. connection: what it was given, None: the right to open one."""

    def __init__(self):
        self.connection = None
        self._told = renewed(threading.Lock())
        self._told.acquire()
        self.tell, self.wait = self._told.release, self._told.acquire


class Connections:
    """At most `most` connections of one session, which it does not reference, so as not to keep it alive.

    check(): raises if the session is dead. Idle connections are taken and returned by atomic operations without the
    lock: `give` adds the connection before it looks for waiters, and a waiter enters the queue before it looks for idle
    connections, so one of them sees the other. Waiters always come first.
    """

    def __init__(self, most):
        self.idle, self._most, self._narrow, self._narrow_until = [], most, most, 0.0
        self._lock, self._open, self._count = renewed(threading.Lock()), set(), 0
        self._waiters = deque()

    def take(self, check):
        """An idle connection, or None: then the caller must open one and add it, or return the right to do so."""
        if not self._waiters:
            try:
                return self.idle.pop()
            except IndexError:
                pass
        waiter = _Waiter()
        with self._lock:
            check()
            if not self._waiters and not self.idle and self._count < self._room():
                self._count += 1
                return None
            self._waiters.append(waiter)
            self._hand_over()
        try:
            waiter.wait()
            check()
        except BaseException:
            self._withdraw(waiter)
            raise
        return waiter.connection

    def add(self, connection, check):
        """Add a newly opened connection, which is in use. Raises if the session has died meanwhile."""
        with self._lock:
            check()
            self._open.add(connection)

    def give(self, connection):
        """Return a connection: the call that has waited longest gets it."""
        try:
            self.idle.append(connection)
        except MemoryError:  # the call has its result; the next one opens another
            connection.channel.close()
            self.lose(connection)
            return
        if self._waiters:
            with self._lock:
                self._hand_over()

    def lose(self, connection=None):
        """Count one connection less: it was closed, or could not be opened."""
        with self._lock:
            self._open.discard(connection)
            self._count -= 1
            self._hand_over()

    def narrow(self):
        """Note that the driver refused a further connection: existing ones must do for a while.

        Returns False if there are none; the caller then still holds the right to open one, and must return it.
        """
        with self._lock:
            if self._count == 1:
                return False
            self._count -= 1
            self._narrow, self._narrow_until = self._count, time.monotonic() + NARROW_SECONDS
            return True

    def take_idle(self):
        """Yield idle connections until there are none left."""
        while self.idle:
            try:
                yield self.idle.pop()
            except IndexError:
                return  # a call was faster

    def end(self):
        """Wake every call of a dead session, waiting for a connection or an answer; returns the idle connections."""
        with self._lock:
            for waiter in self._waiters:
                waiter.tell()
            self._waiters.clear()
            for connection in self._open:
                hang_up(connection.channel.socket)
            idle, self.idle[:] = list(self.idle), []
        return idle

    def abandon(self):
        """Forget all connections, in a forked child; returns the idle ones."""
        idle, self.idle[:] = list(self.idle), []
        self._open.clear()
        return idle

    def _room(self):
        return self._most if time.monotonic() >= self._narrow_until else self._narrow

    def _hand_over(self):
        """Hand connections to waiters in order. Call with the lock held."""
        while self._waiters:
            try:
                connection = self.idle.pop()
            except IndexError:
                if self._count >= self._room():
                    return
                self._count += 1
                connection = None
            waiter = self._waiters.popleft()
            waiter.connection = connection
            waiter.tell()

    def _withdraw(self, waiter):
        """Remove a waiter; what it was given meanwhile goes to the next one."""
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                return
        if waiter.connection is not None:
            self.give(waiter.connection)
        else:
            self.lose()


def hang_up(sock):
    """Shut down both directions of a socket, which wakes threads blocked on it."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # closed, or never connected
