"""The server: accepts clients, gives each a session, and ends well (hal.md 3.12).

One thread accepts, reads first messages and watches the events connections, whose end is the end of a client. Every
connection for calls has a thread of its own.
"""

import errno
import hmac
import logging
import os
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from .._native import threads
from ..driver.cache import version_string
from ..driver.device import Device
from ..engine.budget import Budget
from ..errors import DeviceUnavailable, Error, InvalidArgument, ResourceExhaustedTransient
from . import protocol
from .allowlist import Allowlist
from .answers import failure
from .channel import Channel, Malformed, Wake
from .connection import Connection, check_room
from .histogram import Histogram
from .quotas import Quotas, refuse
from .registry import Registry
from .session import Peer, Session

HELLO_SECONDS = 5.0
"""A connection that has not said hello by then is closed."""

MAX_STRANGERS = 128
RETRY_SECONDS = 0.02
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_CREDENTIALS = struct.Struct("3i")
log = logging.getLogger("nnfast.service")


@dataclass(frozen=True)
class Options:
    """Settings of a server.

    threads: of a run; memory_limit: bytes of all clients together; quotas: of each; allowlist: who may use which vendor
    extensions; drain_seconds: that running calls get at a shutdown; idle_seconds: without clients after which it ends,
    None for never; largest_model: bytes of a model.
    """

    threads: int
    memory_limit: int | None = None
    quotas: Quotas = field(default_factory=Quotas)
    allowlist: Allowlist = field(default_factory=Allowlist)
    drain_seconds: float = 30.0
    idle_seconds: float | None = None
    largest_model: int = 1 << 32

    def extensions_of(self, peer):
        """Names of the vendor extensions that a client may use; None for all."""
        return self.allowlist.extensions_of(peer.executable)


class Server:
    """Serves on listening sockets until `stop`. Options as above."""

    def __init__(self, listeners, options):
        self.options, self.quotas = options, options.quotas
        limit = options.memory_limit
        self.budget = None if limit is None else Budget(limit, "the driver's memory limit")
        self.fair = threads.Fair(threads.available())
        self.registry = Registry(self._own_device)
        self.latency, self.began, self.opened, self.refused = Histogram(), time.monotonic(), 0, 0
        self._listeners, self._sessions, self._strangers = listeners, {}, {}
        self._devices = {}
        self._lock = threading.Lock()
        self._calls, self._stopping, self._ended = 0, False, threading.Condition(self._lock)
        self._selector = selectors.DefaultSelector()
        self._wake = Wake()
        self._used = time.monotonic()

    def _own_device(self, precision):
        """The Device that models are compiled on for everybody."""
        if precision not in self._devices:
            device = Device(self.options.threads, extensions=(), precision=precision)
            device.budget = self.budget
            self._devices[precision] = device
        return self._devices[precision]

    def sessions(self):
        """The clients now."""
        with self._lock:
            return list(self._sessions.values())

    # -- life --------------------------------------------------------------------------------------------------------
    def serve(self):
        """Serve until `stop` is called, or nobody has been there for idle_seconds; then end what runs."""
        self._selector.register(self._wake.fd, selectors.EVENT_READ)
        for listener in self._listeners:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, self._accept)
        try:
            while not self._stopping and not self._is_idle():
                for key, _ in self._selector.select(self._patience()):
                    if key.data is not None:
                        self._handle(key)
                self._dismiss_strangers()
        finally:
            self._shut_down()

    def _handle(self, key):
        """Something has come in. What goes wrong with one client must not end the others."""
        try:
            key.data(key.fileobj)
        except Exception:
            log.exception("internal error with a client, which is dropped")
            session = next((s for s in self.sessions() if s.events is key.fileobj), None)
            if session is not None:
                self._end(session)
            elif key.fileobj in self._strangers:
                self._forget(key.fileobj)

    def stop(self):
        """End soon: finish what runs, refuse what is new. May be called from a signal handler, and from any thread."""
        self._stopping = True
        self._wake.set()

    def enter(self):
        """A call begins; False when the server takes no more."""
        with self._lock:
            if self._stopping:
                return False
            self._calls += 1
            return True

    def leave(self):
        """The call has been answered."""
        with self._lock:
            self._calls -= 1
            if self._stopping:
                self._ended.notify_all()

    def left(self, connection):
        """A connection has ended."""
        with self._lock:
            connection.session.connections.discard(connection)

    def _is_busy(self):
        """True while a call waits for its answer, or a fenced execution or a burst's for its end."""
        return self._calls > 0 or any(session.in_flight or any(burst.is_alive() for burst in session.bursts())
                                      for session in self._sessions.values())

    def _is_idle(self):
        if self.options.idle_seconds is None:
            return False
        if self._sessions or self._strangers:
            self._used = time.monotonic()
        return time.monotonic() - self._used >= self.options.idle_seconds

    def _patience(self):
        """Seconds until there is something to look at, whatever clients do."""
        limits = [HELLO_SECONDS] if self._strangers else []
        if self.options.idle_seconds is not None:
            limits.append(max(0.05, self.options.idle_seconds))
        return min(limits, default=None)

    def _shut_down(self):
        for listener in self._listeners:
            self._selector.unregister(listener)
            listener.close()
        for channel in list(self._strangers):
            self._forget(channel)
        with self._lock:
            self._stopping = True
            for session in self._sessions.values():
                for burst in session.bursts():
                    burst.finish()
            until = time.monotonic() + self.options.drain_seconds
            while self._is_busy() and time.monotonic() < until:
                self._ended.wait(0.05)
        for session in self.sessions():
            self._end(session)
        self._selector.close()

    # -- strangers ---------------------------------------------------------------------------------------------------
    def _accept(self, listener):
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in _EXHAUSTED:
                time.sleep(RETRY_SECONDS)  # the listener stays readable: look again when something has been closed
            return  # else it has gone again
        if len(self._strangers) >= MAX_STRANGERS:
            self._dismiss_one()
        sock.setblocking(False)
        channel = Channel(sock)
        self._strangers[channel] = time.monotonic(), _credentials(sock)[0]
        self._selector.register(channel, selectors.EVENT_READ, self._greet)

    def _forget(self, channel, close=True):
        self._strangers.pop(channel, None)
        self._selector.unregister(channel)
        if close:
            channel.close()

    def _dismiss_strangers(self):
        late = time.monotonic() - HELLO_SECONDS
        for channel in [channel for channel, (since, _) in self._strangers.items() if since < late]:
            self._forget(channel)

    def _dismiss_one(self):
        """Make room: the oldest connection goes of the process that has the most which have said nothing so far."""
        (greedy, _), = Counter(pid for _, pid in self._strangers.values()).most_common(1)
        self._forget(next(channel for channel, (_, pid) in self._strangers.items() if pid == greedy))

    def _greet(self, channel):
        """The first message of a connection: it becomes part of a session, or is told why not."""
        if channel not in self._strangers:
            return  # it had to go while this message came in
        fds = []
        try:
            hello = channel.receive(protocol.HELLO, fds)
            if hello is None:
                self._forget(channel)
                return
            self._check_hello(hello)
            if hello.role == "events":
                self._open(channel, hello)
            else:
                self._join(channel, hello)
        except (Malformed, Error) as error:
            self.refused += 1
            self._turn_away(channel, InvalidArgument(str(error)) if isinstance(error, Malformed) else error)
        except OSError:
            self._forget(channel)
        finally:
            for fd in fds:
                os.close(fd)

    def _turn_away(self, channel, error):
        try:
            channel.send(failure(error))
        except OSError:
            pass  # it does not want to know
        self._forget(channel)

    @staticmethod
    def _check_hello(hello):
        if hello.magic != protocol.MAGIC:
            raise InvalidArgument(f"service: the client says {hello.magic[:40]!r}, must be {protocol.MAGIC!r}")
        if hello.version != protocol.VERSION:
            raise InvalidArgument(f"service: the client speaks version {hello.version} of the protocol, this driver "
                                  f"version {protocol.VERSION}; use the same nnfast on both sides")
        if hello.role not in ("events", "calls"):
            raise InvalidArgument(f"service: the role is {hello.role[:40]!r}, must be events or calls")

    def _open(self, channel, hello):
        """A new session with its events connection, which stays with the selector."""
        number, peer = self.opened + 1, _peer(channel.socket)
        if sum(session.peer.pid == peer.pid for session in self._sessions.values()) >= self.quotas.sessions:
            raise refuse("sessions of one process", self.quotas.sessions, "close some first")
        session = Session(self, number, peer, channel, hello.precision)
        channel.send(self._welcome(session))
        self._forget(channel, close=False)
        with self._lock:
            self.opened = number
            self._sessions[number] = session
        self._selector.register(channel, selectors.EVENT_READ, lambda channel: self._listen(session))

    def _join(self, channel, hello):
        """One more connection for calls of a session, which gets a thread."""
        session = self._sessions.get(hello.session)
        if session is None or not hmac.compare_digest(session.key, hello.key) or \
                _peer(channel.socket).uid != session.peer.uid:
            raise DeviceUnavailable("service: there is no session of this number and key")
        check_room(session)
        connection = Connection(session, channel)
        self._forget(channel, close=False)
        with self._lock:
            session.connections.add(connection)
        try:
            connection.start()
        except RuntimeError as error:  # no thread can be started
            self.left(connection)
            self._strangers[channel] = 0.0
            self._selector.register(channel, selectors.EVENT_READ, self._greet)
            raise ResourceExhaustedTransient(f"service: {error}") from None

    def _welcome(self, session):
        device = session.device
        extensions = [(name, [protocol.ExtensionType(kind.id, kind.name, kind.is_tensor, kind.dtype.itemsize)
                              for _, kind in sorted(extension.types.items())])
                      for name, extension in sorted(device.extensions.items())]
        return protocol.Welcome(protocol.VERSION, session.number, session.key, os.getpid(), version_string(),
                                device.num_threads, device.precision, self.quotas.connections, extensions)

    # -- events ------------------------------------------------------------------------------------------------------
    def _listen(self, session):
        """Something has come in on an events connection: releases, cancels, memories, or the end of the client."""
        fds = []
        try:
            message = session.events.receive(protocol.FROM_CLIENT, fds)
            if isinstance(message, protocol.Release):
                session.release(message.items)
            elif isinstance(message, protocol.Cancel):
                session.cancel(message.call)
            elif isinstance(message, protocol.Memories):
                session.told(message, fds)
            else:
                self._end(session)
        except BlockingIOError:
            pass  # there was nothing
        except (Malformed, OSError):
            self._end(session)
        finally:
            for fd in fds:
                os.close(fd)

    def _end(self, session):
        """A client has gone, or has broken the protocol where nothing can be answered."""
        with self._lock:
            if self._sessions.pop(session.number, None) is None:
                return
        self._selector.unregister(session.events)
        session.close()
        log.info("client %d has gone: process %d", session.number, session.peer.pid)


def _credentials(sock):
    """Process, user and group at the other end."""
    return _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))


def _peer(sock):
    return Peer(*_credentials(sock))
