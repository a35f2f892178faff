"""The server: accepts clients, gives each a session, and shuts down in order [NN 3.12].

One thread accepts connections and reads their first messages. Every connection of a session has its own thread: the
events connection, whose end is the end of the session, and each call connection. The accepting thread never closes a
client's descriptor, as that may block as long as its owner likes.
"""

import errno
import hmac
import logging
import os
import select
import selectors
import socket
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial

from ..._native import threads
from ..._native.rings import Calls
from ...driver.capabilities import device_version
from ...driver.device import Device
from ...engine.budget import Budget
from ...errors import DeviceUnavailable, Error, ErrorStatus, InvalidArgument, ResourceExhaustedTransient
from ...forks import renewed
from ..wire import protocol
from ..wire.channel import Channel, Malformed, Wake
from ..wire.failures import failure
from ..wire.histogram import Histogram
from .allowlist import Allowlist
from .clients import Clients, Peer
from .closer import Closer
from .connection import Connection
from .quotas import Capacity, Quotas
from .registry import Registry
from .session import Session
from .sweeper import Sweeper
from .turns import Turns

HELLO_SECONDS = 5.0
"""Time after which a connection without a hello is closed."""

MAX_UNAUTHENTICATED = 128
END_SECONDS = 5.0
"""Time that threads have to free their clients' resources when the server ends."""

RETRY_SECONDS = 0.02
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
log = logging.getLogger("nnfast.service")


@dataclass(frozen=True)
class Options:
    """Settings of a server.

    threads: of a run; memory_limit: bytes of all clients together; quotas: of each; allowlist: who may use which vendor
    extensions; drain_seconds: that running calls get at a shutdown; idle_seconds: without clients after which it ends,
    None for never; largest_model: bytes of a model; capacity: what all clients may use together, None for what the
    limits of the process allow.
    """

    threads: int
    memory_limit: int | None = None
    quotas: Quotas = field(default_factory=Quotas)
    allowlist: Allowlist = field(default_factory=Allowlist)
    drain_seconds: float = 30.0
    idle_seconds: float | None = None
    largest_model: int = 1 << 32
    capacity: Capacity | None = None

    def extensions_of(self, executable):
        """Names of the vendor extensions that a client may use; None: all."""
        return self.allowlist.extensions_of(executable)


class Server:
    """Serves on listening sockets until `stop`. Options as above."""

    def __init__(self, listeners, options):
        self.options, self.quotas = options, options.quotas
        limit = options.memory_limit
        self.budget = None if limit is None else Budget(limit, "the driver's memory limit")
        self.fair = threads.Fair(threads.available())
        self.turns = Turns()
        self.clients = Clients(self.quotas, options.capacity or Capacity.of_process(), self.budget, self.fair,
                               self.turns)
        self.registry = Registry(self._own_device, limit)
        self.calls = Calls()
        self.sweeper = Sweeper(lambda: not self.calls.count)
        self.latency, self.began, self.opened, self.refused = Histogram(), time.monotonic(), 0, 0
        self.refusals = {status.name: 0 for status in ErrorStatus if status}  # calls answered with an error
        self._listeners, self._sessions, self._unauthenticated = listeners, {}, {}
        self._devices = {}
        self._lock = renewed(threading.Lock())
        self._stopping, self._ended = False, renewed(threading.Condition(self._lock))
        self._selector = selectors.DefaultSelector()
        self._wake, self._closer = Wake(), Closer()
        self._used, self._over = time.monotonic(), deque()

    def _own_device(self, precision):
        """The Device on which shared models are compiled."""
        if precision not in self._devices:
            device = Device(self.options.threads, extensions=(), precision=precision)
            device.budget = self.budget
            self._devices[precision] = device
        return self._devices[precision]

    def sessions(self):
        """The current sessions."""
        with self._lock:
            return list(self._sessions.values())

    # -- life --------------------------------------------------------------------------------------------------------
    def serve(self, stopping=lambda: None, signals=None):
        """Serve until `stop` is called, or there was no client for idle_seconds; then call `stopping` and shut down.

        signals: None, or a socket that is readable once a handler of a signal is to run: a signal that comes right
        before the thread waits, or to another thread, does not end the wait by itself.
        """
        self.sweeper.start()
        self._selector.register(self._wake.fd, selectors.EVENT_READ)
        if signals is not None:
            self._selector.register(signals, selectors.EVENT_READ, lambda told: told.recv(64))
        for listener in self._listeners:
            listener.setblocking(False)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._selector.register(listener, selectors.EVENT_READ, self._accept)
        is_short = False  # of memory; pending events stay in the poll set
        try:
            while not self._stopping and not self._is_idle():
                try:
                    self._look(RETRY_SECONDS if is_short else self._patience())
                    is_short = False
                except MemoryError:
                    time.sleep(RETRY_SECONDS)
                    is_short = True
        finally:
            stopping()
            self._shut_down()

    def _look(self, patience):
        """Wait for events, at most `patience` seconds, and handle them."""
        for key, _ in self._selector.select(patience):
            if key.data is not None:
                self._handle(key)
            else:
                self._wake.clear()
        self._settle()
        self._drop_late()

    def _handle(self, key):
        """Handle one event. An error with one client must not affect the others."""
        try:
            key.data(key.fileobj)
        except Exception:
            log.exception("internal error with a client, which is dropped")
            if key.fileobj in self._unauthenticated:
                self._forget(key.fileobj)

    def stop(self):
        """Start to shut down: running calls finish, new ones are refused. Safe in signal handlers and on any thread."""
        self._stopping = True
        self.calls.stop()
        self._wake.set()

    def enter(self):
        """Count a call that begins; False if the server takes no more."""
        return self.calls.enter()

    def leave(self):
        """Count the end of a call."""
        self.calls.leave()
        if self._stopping:
            with self._lock:
                self._ended.notify_all()

    def count_refusal(self, status):
        """Count a call that is answered with an error of this status."""
        with self._lock:
            self.refusals[ErrorStatus(status).name] += 1

    def left(self, connection):
        """Forget a connection that has ended."""
        with self._lock:
            connection.session.connections.discard(connection)

    def _is_busy(self):
        """True while calls, fenced executions or bursts are running."""
        return self.calls.count > 0 or any(session.in_flight or any(burst.is_alive() for burst in session.bursts())
                                      for session in self._sessions.values())

    def _is_idle(self):
        if self.options.idle_seconds is None:
            return False
        if self._sessions or self._unauthenticated:
            self._used = time.monotonic()
        return time.monotonic() - self._used >= self.options.idle_seconds

    def _patience(self):
        """Seconds until the server must act without an event; None: never."""
        limits = [HELLO_SECONDS] if self._unauthenticated else []
        if self.options.idle_seconds is not None:
            limits.append(max(0.05, self.options.idle_seconds))
        return min(limits, default=None)

    def _shut_down(self):
        for listener in self._listeners:
            self._selector.unregister(listener)
            listener.close()
        for channel in list(self._unauthenticated):
            self._forget(channel)
        with self._lock:
            self._stopping = True
            self.calls.stop()
            for session in self._sessions.values():
                for burst in session.bursts():
                    burst.finish()
            until = time.monotonic() + self.options.drain_seconds
            while self._is_busy() and time.monotonic() < until:
                self._ended.wait(0.05)
            for session in self._sessions.values():
                session.hang_up()
            self._ended.wait_for(lambda: not self._sessions, END_SECONDS)
        self._settle()
        self.sweeper.stop()
        self._selector.close()

    # -- before the first message --------------------------------------------------------------------------------------
    def _accept(self, listener):
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in _EXHAUSTED:
                time.sleep(RETRY_SECONDS)  # out of descriptors; the listener stays readable: retry when some are closed
            return  # else the client is gone again
        if len(self._unauthenticated) >= MAX_UNAUTHENTICATED:
            self._drop_one()
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # inherited, unless systemd made the listener
        try:
            peer = Peer(sock)
        except DeviceUnavailable as error:
            log.info("%s", str(error))  # str: a stored log record must not keep the traceback alive
            self._closer.close(0, sock.close)
            return
        channel = Channel(sock, protocol.MAX_HELLO, 0, peer.pid)
        self._unauthenticated[channel] = time.monotonic(), peer
        self._selector.register(channel, selectors.EVENT_READ, self._on_hello)

    def _forget(self, channel, close=True):
        _, peer = self._unauthenticated.pop(channel)
        self._selector.unregister(channel)
        if close:
            self._closer.close(peer.pid, channel.close)
            peer.close()

    def _drop_late(self):
        late = time.monotonic() - HELLO_SECONDS
        for channel in [channel for channel, (since, _) in self._unauthenticated.items() if since < late]:
            self._forget(channel)

    def _drop_one(self):
        """Make room among connections before their hello: of the user with most of them, drop the oldest one of the
        process with most of them.
        """
        waiting = [(channel, peer) for channel, (_, peer) in self._unauthenticated.items()]
        for name in ("uid", "pid"):
            (greedy, _), = Counter(getattr(peer, name) for _, peer in waiting).most_common(1)
            waiting = [(channel, peer) for channel, peer in waiting if getattr(peer, name) == greedy]
        self._forget(waiting[0][0])

    def _on_hello(self, channel):
        """Handle the first message of a connection, which joins a session or gets the reason why not."""
        if channel not in self._unauthenticated:
            return  # dropped while this message came in
        fds, pid = [], self._unauthenticated[channel][1].pid
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
            self._reject(channel, InvalidArgument(str(error)) if isinstance(error, Malformed) else error)
        except OSError:
            self._forget(channel)
        finally:
            for fd in fds:
                self._closer.close(pid, partial(os.close, fd))

    def _reject(self, channel, error):
        try:
            channel.send(failure(error))
        except OSError:
            pass  # the client does not read its answer
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
        """Open a session on an events connection, with its thread."""
        number, (_, peer) = self.opened + 1, self._unauthenticated[channel]
        client = self.clients.find(peer)
        if client is None:
            client = self.clients.add(peer)
        try:
            session = Session(self, number, client, channel, hello.precision)
            thread = threading.Thread(target=self._attend, args=(session,), name=f"nnfast-events-{number}", daemon=True)
            channel.limit(protocol.MAX_EVENT, 0)
            with self._lock:
                self.opened = number
                self._sessions[number] = session
            client.sessions.add(session)
            try:
                thread.start()
            except RuntimeError as error:
                with self._lock:
                    del self._sessions[number]
                client.sessions.discard(session)
                raise ResourceExhaustedTransient(f"service: {error}") from None
        except BaseException:
            if not client.sessions:
                self.clients.forget(client)
            raise
        self._forget(channel, close=False)
        log.info("session %d has begun: process %d of user %d, %s", number, client.pid, client.uid,
                 session.executable or "unknown executable")
        if client.peer is not peer:
            peer.close()
        elif peer.pidfd >= 0:
            self._selector.register(peer.pidfd, selectors.EVENT_READ, lambda _: self._end_all(client))
            client.is_watched = True

    def _join(self, channel, hello):
        """Add a call connection to a session, with its thread."""
        session, (_, peer) = self._sessions.get(hello.session), self._unauthenticated[channel]
        if session is None or session.closed or not hmac.compare_digest(session.key, hello.key) or \
                self.clients.find(peer) is not session.client:
            raise DeviceUnavailable("service: there is no session of this number and key of this process")
        channel.limit(protocol.MAX_PACKET, protocol.MAX_CALL, session.work)
        connection = Connection(session, channel)
        with self._lock:
            session.connections.add(connection)
        try:
            connection.start()
        except RuntimeError as error:  # no thread can be started
            connection.release()
            raise ResourceExhaustedTransient(f"service: {error}") from None
        self._forget(channel, close=False)
        peer.close()
        if session.closed:  # meanwhile, perhaps without seeing this connection
            channel.hang_up()

    def _welcome(self, session):
        device = session.device
        extensions = [(name, [protocol.ExtensionType(kind.id, kind.name, kind.is_tensor, kind.dtype.itemsize)
                              for _, kind in sorted(extension.types.items())])
                      for name, extension in sorted(device.extensions.items())]
        return protocol.Welcome(protocol.VERSION, session.number, session.key, os.getpid(), device_version(),
                                device.num_threads, device.precision, self.quotas.connections, extensions)

    # -- events ------------------------------------------------------------------------------------------------------
    def _attend(self, session):
        """Thread of a session: reads its events connection, and closes the session when that ends."""
        poller = select.poll()
        poller.register(session.events, select.POLLIN)
        try:
            session.events.send(self._welcome(session))
            while self._listen(session):
                poller.poll()
        except OSError:
            pass  # the client has gone
        except Exception:
            log.exception("internal error with client %d, which is dropped", session.number)
        finally:
            self._end(session)

    @staticmethod
    def _listen(session):
        """Handle an incoming message: release, cancel, memories. False if the client is gone, or has violated the
        protocol in a message that has no answer."""
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
                return False
        except BlockingIOError:
            pass  # nothing came in
        except Malformed:
            return False
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def _end(self, session):
        """Free what a session held, which may take long; until then it counts as one of its client's."""
        try:
            session.close()
        finally:
            log.info("session %d has ended: process %d", session.number, session.client.pid)
            with self._lock:
                self._sessions.pop(session.number, None)
                self._over.append(session)
                self._used = time.monotonic()
                self._ended.notify_all()
            self._wake.set()

    def _settle(self):
        """Forget sessions that have ended, and clients without sessions. Runs on the server's own thread."""
        while self._over:
            session = self._over.popleft()
            client = session.client
            client.sessions.discard(session)
            if not client.sessions:
                if client.is_watched:
                    self._selector.unregister(client.peer.pidfd)
                self.clients.forget(client)
                self.sweeper.trim()

    def _end_all(self, client):
        """Handle the end of a client's process, even if others still hold its sockets."""
        self._selector.unregister(client.peer.pidfd)
        client.is_watched = False
        for session in list(client.sessions):
            session.hang_up()
