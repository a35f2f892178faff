"""The page of `nnfast serve --metrics` that Prometheus reads: HTTP on a thread of its own.

Whoever reaches the address may send anything, as often as he likes: few connections at a time, each for a few seconds,
with a pause after each event; the text is made anew once a second at most, in turns with the clients' long calls.
"""

import logging
import os
import selectors
import socket
import threading
import time

from ..._native.threads import now_ns
from ...driver.client import Client
from ...errors import Error, InvalidArgument
from ..wire.channel import Wake
from .exposition import exposition
from .listening import listen, remove
from .turns import Work

FRESH_SECONDS = 1.0
"""Age up to which the text is used again."""

MOST_CONNECTIONS, LONGEST_SECONDS, LONGEST_HEAD = 16, 5.0, 8192
PAUSE_SECONDS, RETRY_SECONDS = 0.005, 0.1
TURN_SECONDS = 3.0
"""How long the text may wait for its turn."""

TEXT = "text/plain; version=0.0.4; charset=utf-8"
log = logging.getLogger("nnfast.service")


def listener_at(address):
    """A listening socket at "[HOST:]PORT" (127.0.0.1 where no host is named) or at a path, which has a "/".

    Raises InvalidArgument.
    """
    if "/" in address:
        return listen(address, socket.SOCK_STREAM)
    host, _, port = address.rpartition(":")
    if not port.isascii() or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise InvalidArgument(f"metrics: is {address[:80]!r}, must be [HOST:]PORT or a path with a /")
    try:
        found = socket.getaddrinfo(host.strip("[]") or "127.0.0.1", int(port), type=socket.SOCK_STREAM,
                                   flags=socket.AI_PASSIVE)
        family, _, _, _, place = found[0]
        return socket.create_server(place, family=family, backlog=16)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidArgument(f"metrics: cannot be served at {address[:80]}: {reason}") from None


class _Reader:
    """One connection: what it has sent, what is left to send, and until when."""

    def __init__(self, sock):
        self.sock, self.head, self.answer, self.end = sock, b"", b"", time.monotonic() + LONGEST_SECONDS


class Metrics:
    """Serves the metrics of a Server at a listening socket, from `start` to `stop`."""

    def __init__(self, server, listener):
        self._server, self._listener = server, listener
        self._client = Client()
        self._client.gate.join(server.fair)
        self._line = server.turns.line(self._client.gate)
        self._selector, self._wake, self._stopping = selectors.DefaultSelector(), Wake(), False
        self._readers, self._text, self._made = set(), b"", float("-inf")
        name = listener.getsockname()
        self._place = (name, os.stat(name)) if isinstance(name, str) else (None, None)
        self._thread = threading.Thread(target=self._serve, name="nnfast-metrics", daemon=True)

    @property
    def address(self):
        """Where it serves: "host:port" or a path."""
        name = self._listener.getsockname()
        if isinstance(name, str):
            return name
        return f"[{name[0]}]:{name[1]}" if self._listener.family == socket.AF_INET6 else f"{name[0]}:{name[1]}"

    def start(self):
        """Serve on a thread of its own."""
        self._listener.setblocking(False)
        self._selector.register(self._wake.fd, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()

    def stop(self):
        """Serve no more."""
        self._stopping = True
        self._wake.set()
        self._thread.join()
        for reader in list(self._readers):
            self._close(reader)
        self._listener.close()
        self._selector.close()
        remove(*self._place)

    def _serve(self):
        while not self._stopping:
            try:
                for key, _ in self._selector.select(LONGEST_SECONDS if self._readers else None):
                    self._handle(key)
                for reader in [reader for reader in self._readers if reader.end < time.monotonic()]:
                    self._close(reader)
            except Exception:  # out of memory or of descriptors: whoever reads tries again
                log.debug("metrics: an event was lost", exc_info=True)
                time.sleep(RETRY_SECONDS)
            if not self._stopping:
                time.sleep(PAUSE_SECONDS)

    def _handle(self, key):
        if key.data is not None:
            try:
                self._go_on(key.data)
            except Exception as error:
                self._close(key.data)
                if not isinstance(error, OSError):
                    raise
        elif key.fileobj is self._listener:
            self._accept()

    def _accept(self):
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return  # gone again
        sock.setblocking(False)
        if len(self._readers) >= MOST_CONNECTIONS:
            self._close(min(self._readers, key=lambda reader: reader.end))
        reader = _Reader(sock)
        self._readers.add(reader)
        self._selector.register(sock, selectors.EVENT_READ, reader)

    def _close(self, reader):
        if reader in self._readers:
            self._readers.discard(reader)
            self._selector.unregister(reader.sock)
            reader.sock.close()

    def _go_on(self, reader):
        """Read or write what can be without waiting; the end of the answer is the end of the connection."""
        if reader not in self._readers:
            return  # closed by an event before this one
        if not reader.answer:
            part = reader.sock.recv(LONGEST_HEAD)
            reader.head += part
            if not part or len(reader.head) > LONGEST_HEAD:
                self._close(reader)
                return
            if b"\r\n\r\n" not in reader.head and b"\n\n" not in reader.head:
                return
            reader.answer = self._answer(reader.head.split(None, 2)[:2])
            reader.end = time.monotonic() + LONGEST_SECONDS
            self._selector.modify(reader.sock, selectors.EVENT_WRITE, reader)
        else:
            reader.answer = reader.answer[reader.sock.send(reader.answer):]
            if not reader.answer:
                reader.sock.shutdown(socket.SHUT_WR)
                self._close(reader)

    def _answer(self, request):
        if len(request) != 2 or request[0] not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", b"only GET\n", request)
        if request[1].partition(b"?")[0] != b"/metrics":
            return _response("404 Not Found", b"there is /metrics\n", request)
        try:
            return _response("200 OK", self._fresh(), request, TEXT)
        except Error:
            return _response("503 Service Unavailable", b"the driver is too busy\n", request)

    def _fresh(self):
        """The text, made anew where it is old. Raises MissedDeadlineTransient."""
        if time.monotonic() - self._made > FRESH_SECONDS:
            with Work(self._line, deadline_ns=now_ns() + int(TURN_SECONDS * 1e9)):
                self._text = exposition(self._server)
            self._made = time.monotonic()
        return self._text


def _response(status, body, request, kind="text/plain; charset=utf-8"):
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (b"" if request[:1] == [b"HEAD"] else body)
