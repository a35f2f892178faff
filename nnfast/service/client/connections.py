"""A client's connections for calls: idle ones are used again, and who has to wait for one gets it in turn."""

import socket
import threading
import time
from collections import deque

from ...forks import renewed

NARROW_SECONDS = 1.0
"""So long a session makes do with what it has after the driver had no room for one connection more."""


class _Waiter:
    """A call that waits. connection: what it got, None for the right to open one."""

    def __init__(self):
        self.connection = None
        self._told = renewed(threading.Lock())
        self._told.acquire()
        self.tell, self.wait = self._told.release, self._told.acquire


class Connections:
    """At most `most` connections of one session. It does not know the session, so that it does not keep it alive; what
    is given as check() raises when the session is dead.

    Idle connections are taken and given back without the lock, each in one step of the interpreter: `give` adds the
    connection before it looks for waiters, a waiter enters the queue before it looks for idle connections, so that one
    of the two sees the other. Nobody takes one past a waiter.
    """

    def __init__(self, most):
        self.idle, self._most, self._narrow, self._narrow_until = [], most, most, 0.0
        self._lock, self._open, self._count = renewed(threading.Lock()), set(), 0
        self._waiters = deque()

    def take(self, check):
        """An idle connection, or None: the caller opens one, and adds it or gives the right back."""
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
        """A connection has been opened, and is in use. Raises when the session has died meanwhile."""
        with self._lock:
            check()
            self._open.add(connection)

    def give(self, connection):
        """A connection can take the next call: the one that has waited longest gets it."""
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
        """One connection less: this one is closed, or could not be opened."""
        with self._lock:
            self._open.discard(connection)
            self._count -= 1
            self._hand_over()

    def narrow(self):
        """The driver has no room for the one that was to be opened: those that there are must do for a while.

        Returns False when there are none: the right to open one is the caller's still, who gives it back.
        """
        with self._lock:
            if self._count == 1:
                return False
            self._count -= 1
            self._narrow, self._narrow_until = self._count, time.monotonic() + NARROW_SECONDS
            return True

    def take_idle(self):
        """Idle connections, one after the other, for as long as no call takes them."""
        while self.idle:
            try:
                yield self.idle.pop()
            except IndexError:
                return  # a call was faster

    def end(self):
        """The session is dead: wake every call, whether it waits for a connection or for an answer.

        Returns the idle connections.
        """
        with self._lock:
            for waiter in self._waiters:
                waiter.tell()
            self._waiters.clear()
            for connection in self._open:
                hang_up(connection.channel.socket)
            idle, self.idle[:] = list(self.idle), []
        return idle

    def abandon(self):
        """In a forked child: forget all; returns what was idle."""
        idle, self.idle[:] = list(self.idle), []
        self._open.clear()
        return idle

    def _room(self):
        return self._most if time.monotonic() >= self._narrow_until else self._narrow

    def _hand_over(self):
        """Give what there is to those who wait, in their order. The lock is held."""
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
        """A waiter goes away; what it has got meanwhile is for the next one."""
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                return
        if waiter.connection is not None:
            self.give(waiter.connection)
        else:
            self.lose()


def hang_up(sock):
    """End both directions of a socket: whoever waits at it wakes."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is closed, or was never connected
