"""The client's side of a session: connections, calls on them, and a thread for what comes later.

A call takes an idle connection (or opens one more, or waits for one where the driver allows no more), sends, and reads
the answer in the calling thread. One thread per session reads the answers of launched calls, watches fences, and sees
the driver die: every call that waits then, and every later one, gets DeadObject.
"""

import errno
import os
import select
import socket
import threading
import weakref
from collections import deque
from itertools import count

from ..driver.fence import ACTIVE
from ..driver.request import OutputShape
from ..driver.submit import CALLBACKS, workers
from ..errors import DeadObject, DeviceUnavailable, GeneralFailure, ResourceExhaustedTransient
from . import protocol
from .answers import raise_failure
from .burst import answer_later
from .calling import Connection, close_all
from .channel import Channel, Malformed, Wake
from .protocol import Failure

RELEASE_SECONDS = 0.02
"""How long dropped objects wait for a call that takes the news of them along."""

_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ESHUTDOWN)
_busy = set()  # sessions that somebody waits for: they live until he has been told
_sessions = weakref.WeakSet()


class Session:
    """A client's session with a driver's process. Any number of threads may use it. Raises DeviceUnavailable."""

    def __init__(self, path, precision=None):
        self.path, self._pid = path, os.getpid()
        self.dead = None  # why, once the driver is gone
        self.released = deque()  # objects that were dropped: (kind, number)
        self.numbers = count(1)
        self.bursts = {}  # number: get_memories(slots)
        self._idle, self._count, self._free, self._waiting = [], 0, threading.Condition(), 0
        self._lock = threading.Lock()
        self._new, self._pending, self._fences = deque(), {}, {}
        self._precision, self._key, self.welcome = precision, b"", None
        self._events = self.open("events")
        self._wake = Wake()
        self._poller = select.poll()
        for fd in (self._events.fileno(), self._wake.fd):
            self._poller.register(fd, select.POLLIN)
        self._finalizer = weakref.finalize(self, _close, self._events, self._idle, self._wake)
        _sessions.add(self)
        threading.Thread(target=_watch, args=(weakref.ref(self), self._poller, self._wake),
                         name="nnfast-service", daemon=True).start()

    # -- connections -------------------------------------------------------------------------------------------------
    def open(self, role):
        """A channel that has said hello."""
        try:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise ResourceExhaustedTransient(f"{self.path}: no socket can be made: {error.strerror}") from None
        try:
            sock.connect(self.path)
            channel, fds = Channel(sock), []
            welcome = self.welcome
            channel.send(protocol.Hello(protocol.MAGIC, protocol.VERSION, role, welcome.session if welcome else 0,
                                        welcome.key if welcome else b"", self._precision))
            answer = channel.receive(protocol.FROM_SERVER, fds)
            close_all(fds)
            if answer is None:
                raise DeadObject(f"{self.path}: the driver's process has closed the connection; connect again")
            if type(answer) is Failure:
                raise_failure(answer, OutputShape)
        except (OSError, Malformed, DeviceUnavailable) as error:
            sock.close()
            raise DeadObject(f"{self.path}: no driver's process can be reached: "
                             f"{getattr(error, 'strerror', None) or error}; start it with nnfast serve") from None
        except BaseException:
            sock.close()
            raise
        if welcome is None:
            self.welcome = answer
        return channel

    def take(self):
        """A connection for one call; `give` it back."""
        try:
            connection = self._idle.pop()
        except IndexError:
            pass
        else:
            connection.session = self
            return connection
        if self._pid != os.getpid():
            raise DeadObject(f"{self.path}: the session belongs to the parent process; connect again in the child")
        with self._free:
            while True:
                self.check()
                if self._idle:
                    connection = self._idle.pop()
                    connection.session = self
                    return connection
                if self._count < self.welcome.connections:
                    self._count += 1
                    break
                self._waiting += 1
                self._free.wait()
                self._waiting -= 1
        try:
            return Connection(self)
        except BaseException as error:
            with self._free:
                self._count -= 1
                self._free.notify()
            if isinstance(error, DeadObject):
                raise self.lost(error) from None
            raise

    def give(self, connection):
        """The call is over. A connection on which an answer is outstanding is of no use any more."""
        connection.session = None  # what is idle does not keep the session alive
        if connection.in_step and self.dead is None:
            self._idle.append(connection)
            if self._waiting:
                with self._free:
                    self._free.notify()
        else:
            connection.channel.close()
            with self._free:
                self._count -= 1
                self._free.notify()

    def call(self, message, fds=()):
        """The answer to a message, on any connection."""
        connection = self.take()
        try:
            return connection.call(message, fds)
        finally:
            self.give(connection)

    # -- what comes later --------------------------------------------------------------------------------------------
    def launch(self, connection, message, fds, done):
        """Send a launch on a connection that `take` gave; done(connection, error) in the background, once.

        done must receive the answer where error is None, and give the connection back in any case. Raises what the
        driver says of the launch itself; the connection is the caller's then.
        """
        connection.call(message, fds)
        self.later(connection, done)

    def later(self, connection, done):
        """An answer is outstanding on a connection: done(connection, error) as in `launch`."""
        with self._lock:
            _busy.add(self)
            if self.dead is None:
                self._pending[connection.channel.fileno()] = connection, done
                self._new.append(connection.channel.fileno())
                self._wake.set()
                return
        self._finish(connection, done, DeadObject(self.dead))

    def watch(self, fence, then=None):
        """Put a fence of the driver's into the error state if the driver dies before it is signalled.

        then(state): called when it has ended, in the session's thread.
        """
        with self._lock:
            if self.dead is None:
                self._fences[fence.fileno()] = fence, then
                self._new.append(fence.fileno())
                self._wake.set()
                return
        _fail(fence, then)

    def drop(self, kind, number):
        """An object of the driver is not needed any more. Called by the collector: it waits for nothing."""
        self.released.append((kind, number))
        if len(self.released) == 1:
            self._wake.set()

    def take_released(self):
        """The Release of what was dropped."""
        items = []
        try:
            while True:
                items.append(self.released.popleft())
        except IndexError:
            return protocol.Release(items)

    def tell(self, message, fds=()):
        """Send a message that has no answer on the events connection."""
        try:
            with self._lock:
                self._events.send(message, fds)
        except OSError as error:
            self.lost(error)

    # -- end ---------------------------------------------------------------------------------------------------------
    def check(self):
        """Refuse when the driver is gone."""
        if self.dead is not None:
            raise DeadObject(self.dead)

    def failed(self, error):
        """The error to raise when a message could not be sent."""
        if error.errno in _GONE:
            return self.lost(error)
        return GeneralFailure(f"{self.path}: the message could not be sent: {error.strerror}")

    def lost(self, error=None):
        """The driver is gone: wake whoever waits for it. Returns the error to raise."""
        with self._lock:
            if self.dead is None:
                reason = f": {getattr(error, 'strerror', None) or error}" if error is not None and \
                    not isinstance(error, DeadObject) else ""
                self.dead = f"{self.path}: the driver's process has gone{reason}; connect again and prepare anew"
            pending, self._pending = list(self._pending.values()), {}
            fences, self._fences = list(self._fences.values()), {}
        with self._free:
            idle, self._idle[:] = list(self._idle), []
            self._free.notify_all()
        try:
            self._events.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed
        for connection in idle:
            connection.channel.close()
        for connection, done in pending:
            self._finish(connection, done, DeadObject(self.dead))
        for fence, then in fences:
            _fail(fence, then)
        return DeadObject(self.dead)

    def close(self):
        """End the session: the driver frees what it holds for it."""
        with self._lock:
            if self.dead is None:
                self.dead = f"{self.path}: this session was closed; connect again"
        self.lost()

    def abandon(self):
        """In a forked child: let go of the parent's connections."""
        self.dead = f"{self.path}: the session belongs to the parent process; connect again in the child"
        for channel in (self._events, *(connection.channel for connection in self._idle)):
            channel.close()
        self._idle.clear()
        self._wake.close()
        self._finalizer.detach()

    # -- the thread --------------------------------------------------------------------------------------------------
    def patience(self):
        """Milliseconds the thread may sleep; None for ever."""
        return RELEASE_SECONDS * 1e3 if self.released else None

    def handle(self, events):
        """What the thread does when something has come in; False at the end."""
        ready = {fd for fd, _ in events}
        if self._wake.fd in ready:
            self._wake.clear()
            ready.discard(self._wake.fd)
        elif not ready and self.released:
            self.tell(self.take_released())
        while self._new:
            self._poller.register(self._new.popleft(), select.POLLIN)
        for fd in ready:
            if fd == self._events.fileno():
                self._listen()
                continue
            self._poller.unregister(fd)
            with self._lock:
                waiting = self._pending.pop(fd, None)
                fence, then = self._fences.pop(fd, (None, None))
            if waiting is not None:
                self._finish(*waiting, None)
            if then is not None:
                then(fence.state)
        return self.dead is None

    def _listen(self):
        """The events connection has something: a question about the memories of a burst, or the driver's end."""
        try:
            message = self._events.receive(protocol.FROM_SERVER, fds := [])
            close_all(fds)
        except (OSError, Malformed) as error:
            self.lost(error)
            return
        if message is None:
            self.lost()
        elif isinstance(message, protocol.GetMemories):
            answer_later(self, message)

    def _finish(self, connection, done, error):
        def work():
            try:
                done(connection, error)
            finally:
                with self._lock:
                    if not self._pending:
                        _busy.discard(self)

        try:
            workers(CALLBACKS).submit(work)
        except RuntimeError:  # no thread can be started any more; whoever waits must be told all the same
            work()


def _fail(fence, then):
    """The driver is gone: what waits for this fence must know."""
    if fence.state == ACTIVE:
        fence.fail()
    if then is not None:
        then(fence.state)


def _watch(reference, poller, wake):
    """The thread of a session, which does not keep it alive. wake: stays open as long as it is polled."""
    patience = None
    while True:
        events = poller.poll(patience)
        session = reference()
        if session is None or not session.handle(events):
            return
        patience = session.patience()
        del session


def _close(events, idle, wake):
    """A session is no more: its sockets end, and its thread with them."""
    wake.set()
    try:
        events.socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # they have gone already
    events.close()
    while idle:
        idle.pop().channel.close()


def _after_fork():
    for session in list(_sessions):
        session.abandon()
    _busy.clear()


os.register_at_fork(after_in_child=_after_fork)
