"""The client's side of a session: connections, calls on them, and a thread for asynchronous events.

A call takes an idle connection (or opens another, or waits for one if the driver allows no more), sends, and reads the
answer in the calling thread. One thread per session reads the answers of launched calls, watches fences, and notices
the driver's death: every pending and later call then raises DeadObject.
"""

import errno
import os
import select
import socket
import threading
import time
import weakref
from collections import deque
from itertools import count

from ...driver.background import Background
from ...driver.fence import ERROR
from ...driver.request import OutputShape
from ...errors import DeadObject, DeviceUnavailable, ErrorStatus, GeneralFailure, ResourceExhaustedTransient
from ...forks import renewed
from ..wire import protocol
from ..wire.channel import Channel, Malformed, Wake
from ..wire.failures import raise_failure
from ..wire.protocol import Failure
from .burst import answer_later
from .connection import ClientConnection, close_all
from .connections import Connections, hang_up

RELEASE_SECONDS = 0.02
"""How long a Release of dropped objects waits for a call to travel with."""

ANSWER_SECONDS = 30.0
"""Time that a serving driver has to answer the first message."""

CONNECT_SECONDS = 0.005
"""Delay before a connection is tried again while the process's backlog is full."""

_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ESHUTDOWN)
SHED_SECONDS = 1.0
"""How long the driver may take to notice closed connections."""

_busy = set()  # sessions with pending launches: kept alive until these are answered
_sessions = weakref.WeakSet()


class _NoRoom(ResourceExhaustedTransient):
    """The driver accepts no further connection from this process for now."""


class ClientSession:
    """A client's session with a driver's process. Any number of threads may use it. Raises DeviceUnavailable."""

    def __init__(self, path, precision=None, seconds=ANSWER_SECONDS):
        self.path = path
        self.dead = None  # the reason, once the driver is gone
        self.released = deque()  # dropped objects: (kind, number)
        self.numbers = count(1)
        self.bursts = {}  # number: get_memories(slots)
        self.background = Background()
        self._opening = set()  # sockets that the driver has not answered yet
        self._lock = renewed(threading.Lock())
        self._new, self._pending, self._fences = deque(), {}, {}
        self._precision, self._key, self.welcome = precision, b"", None
        self._events = self.open("events", seconds)
        self._connections = Connections(self.welcome.connections)
        self._wake = Wake()
        self._poller = select.poll()
        for fd in (self._events.fileno(), self._wake.fd):
            self._poller.register(fd, select.POLLIN)
        self._finalizer = weakref.finalize(self, _close, self._events, self._connections.idle, self._wake)
        _sessions.add(self)
        threading.Thread(target=_watch, args=(weakref.ref(self), self._poller, self._wake),
                         name="nnfast-service", daemon=True).start()

    # -- connections -------------------------------------------------------------------------------------------------
    def open(self, role, seconds=None):
        """A channel after the hello exchange. seconds: time that the driver's process has to answer; None: wait until
        it does, or the session is closed.
        """
        try:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise ResourceExhaustedTransient(f"{self.path}: cannot create a socket: {error.strerror}") from None
        self._opening.add(sock)
        try:
            reach(sock, self.path, seconds, self.check)
            channel, fds = Channel(sock), []
            welcome = self.welcome
            channel.send(protocol.Hello(protocol.MAGIC, protocol.VERSION, role, welcome.session if welcome else 0,
                                        welcome.key if welcome else b"", self._precision))
            sock.settimeout(seconds)
            answer = channel.receive(protocol.FROM_SERVER, fds)
            sock.settimeout(None)
            close_all(fds)
            if answer is None:
                self.check()
                raise DeadObject(f"{self.path}: the driver's process has closed the connection; connect again")
            if type(answer) is Failure:
                if answer.status == ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT:
                    raise _NoRoom(answer.text)
                raise_failure(answer, OutputShape)
        except TimeoutError:
            sock.close()
            raise DeadObject(f"{self.path}: the driver's process has not answered within {seconds:g} s; allow more "
                             f"patience, or see whether it has been stopped") from None
        except (OSError, Malformed, DeviceUnavailable) as error:
            sock.close()
            raise DeadObject(f"{self.path}: no driver's process can be reached: "
                             f"{getattr(error, 'strerror', None) or error}; start it with nnfast serve") from None
        except BaseException:
            sock.close()
            raise
        finally:
            self._opening.discard(sock)
        if welcome is None:
            self.welcome = answer
        return channel

    def take(self):
        """A connection for one call; `give` it back."""
        connection, patience = self._connections.take(self.check), 0.0
        while connection is None:
            try:
                connection = ClientConnection(self)
                self._connections.add(connection, self.check)
            except _NoRoom:
                # Other sessions of this process hold the rest: free their idle ones, else wait for one of our own.
                if sum(other.shed() for other in list(_sessions) if other is not self):
                    patience = time.monotonic() + SHED_SECONDS
                if time.monotonic() < patience:
                    time.sleep(0.002)  # until the driver notices that they are closed
                elif self._connections.narrow():
                    connection = self._connections.take(self.check)
                else:
                    self._connections.lose()
                    raise
            except BaseException as error:
                if connection is not None:
                    connection.channel.close()
                self._connections.lose()
                if isinstance(error, DeadObject):
                    raise self.lost(error) from None
                raise
        connection.session = self
        return connection

    def shed(self):
        """Close idle connections in favour of other sessions; returns how many."""
        closed = 0
        for connection in self._connections.take_idle():
            connection.channel.close()
            self._connections.lose(connection)
            closed += 1
        return closed

    def give(self, connection):
        """Return a connection after a call. One with an outstanding answer is closed."""
        connection.session = None  # an idle connection must not keep the session alive
        if connection.in_step and self.dead is None:
            self._connections.give(connection)
        else:
            connection.channel.close()
            self._connections.lose(connection)

    def call(self, message, fds=()):
        """The answer to a message, on any connection."""
        connection = self.take()
        try:
            return connection.call(message, fds)
        finally:
            self.give(connection)

    # -- what comes later --------------------------------------------------------------------------------------------
    def launch(self, connection, message, fds, done):
        """Send a launch on a connection from `take`; done(connection, error) is called once, in the background.

        done must receive the answer if error is None, and return the connection in any case. Raises the driver's error
        about the launch itself; the connection then stays with the caller.
        """
        connection.call(message, fds)
        self.later(connection, done)

    def later(self, connection, done):
        """Wait in the background for an outstanding answer on a connection: done(connection, error) as in `launch`."""
        with self._lock:
            _busy.add(self)
            if self.dead is None:
                self._pending[connection.channel.fileno()] = connection, done
                self._new.append(connection.channel.fileno())
                self._wake.set()
                return
        self._finish(connection, done, DeadObject(self.dead))

    def watch(self, fence, then):
        """Call then(state) on the session's thread when a fence of the driver has ended, or the driver has died."""
        with self._lock:
            if self.dead is None:
                self._fences[fence.fileno()] = fence, then
                self._new.append(fence.fileno())
                self._wake.set()
                return
        then(ERROR)

    def drop(self, kind, number):
        """Note that an object of the driver is no longer needed. Never blocks, as the garbage collector calls it."""
        self.released.append((kind, number))
        if len(self.released) == 1:
            self._wake.set()

    def take_released(self):
        """A Release of dropped objects, as many as fit into one message."""
        items = []
        try:
            while len(items) < protocol.MAX_RELEASE:
                items.append(self.released.popleft())
        except IndexError:
            return protocol.Release(items)

    def tell(self, message, fds=()):
        """Send a message without an answer on the events connection."""
        try:
            with self._lock:
                self._events.send(message, fds)
        except OSError as error:
            self.lost(error)

    # -- end ---------------------------------------------------------------------------------------------------------
    def check(self):
        """Raise DeadObject if the driver is gone."""
        if self.dead is not None:
            raise DeadObject(self.dead)

    def failed(self, error):
        """The error to raise when a message could not be sent."""
        if error.errno in _GONE:
            return self.lost(error)
        return GeneralFailure(f"{self.path}: the message could not be sent: {error.strerror}")

    def lost(self, error=None):
        """Mark the session dead and wake all pending calls. Returns the error to raise."""
        with self._lock:
            if self.dead is None:
                reason = f": {getattr(error, 'strerror', None) or error}" if error is not None and \
                    not isinstance(error, DeadObject) else ""
                self.dead = f"{self.path}: the driver's process has gone{reason}; connect again and prepare anew"
            pending, self._pending = list(self._pending.values()), {}
            fences, self._fences = list(self._fences.values()), {}
        for sock in (self._events.socket, *list(self._opening)):
            hang_up(sock)
        for connection in self._connections.end():
            connection.channel.close()
        for connection, done in pending:
            self._finish(connection, done, DeadObject(self.dead))
        for _, then in fences:
            then(ERROR)
        return DeadObject(self.dead)

    def close(self):
        """End the session: the driver frees what it holds for it."""
        with self._lock:
            if self.dead is None:
                self.dead = f"{self.path}: this session was closed; connect again"
        self.lost()

    def abandon(self):
        """Drop the parent's connections, in a forked child."""
        self.dead = f"{self.path}: the session belongs to the parent process; connect again in the child"
        for channel in (self._events, *(connection.channel for connection in self._connections.abandon())):
            channel.close()
        self._wake.close()
        self._finalizer.detach()

    # -- the thread --------------------------------------------------------------------------------------------------
    def patience(self):
        """Milliseconds that the thread may sleep; None: forever."""
        return RELEASE_SECONDS * 1e3 if self.released else None

    def handle(self, events):
        """Handle incoming events on the thread; False at the end."""
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
            if fence is not None:
                then(fence.state)
        return self.dead is None

    def _listen(self):
        """Handle input on the events connection: a question for memories of a burst, or the driver's end."""
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
            self.background.call(work)
        except RuntimeError:  # no thread can be started; the waiting caller must get its answer all the same
            work()


def reach(sock, path, seconds, check):
    """Connect a socket within `seconds` (None: no limit); check() raises to give up. Raises OSError."""
    until = None if seconds is None else time.monotonic() + seconds
    sock.setblocking(False)
    while True:
        try:
            sock.connect(path)
            break
        except BlockingIOError:  # the server's backlog is full
            check()
            if until is not None and time.monotonic() >= until:
                raise TimeoutError from None
            time.sleep(CONNECT_SECONDS)
    sock.setblocking(True)


def _watch(reference, poller, wake):
    """Main loop of a session's thread, which does not keep the session alive. wake: held while it is polled."""
    patience = None
    while True:
        events = poller.poll(patience)
        session = reference()
        if session is None or not session.handle(events):
            return
        patience = session.patience()
        del session


def _close(events, idle, wake):
    """Finalizer of a session: close its sockets, which ends its thread."""
    wake.set()
    hang_up(events.socket)
    events.close()
    while idle:
        idle.pop().channel.close()


def _after_fork():
    for session in list(_sessions):
        session.abandon()
    _busy.clear()


os.register_at_fork(after_in_child=_after_fork)
