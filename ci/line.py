"""Sessions with a driver's process whose messages are written by hand."""

import socket

import nnfast
from nnfast.service.wire import protocol
from nnfast.service.wire.channel import Channel


def plug(path, timeout=None):
    """A bare connection to the driver's socket."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(timeout)
    try:
        sock.connect(path)
    except BaseException:
        sock.close()
        raise
    return sock


class Line:
    """A session whose messages are written by hand: `events` and `calls` are channels that have said hello."""

    def __init__(self, path, timeout=30):
        self.path, self._timeout = path, timeout
        self.welcome = None
        self.events = self.open("events")
        self.calls = self.open("calls")

    def open(self, role):
        """One more channel of the session."""
        sock = plug(self.path, self._timeout)
        channel = Channel(sock)
        known = self.welcome
        channel.send(protocol.Hello(protocol.MAGIC, protocol.VERSION, role, known.session if known else 0,
                                    known.key if known else b""))
        answer = channel.receive(protocol.FROM_SERVER, [])
        if isinstance(answer, protocol.Failure) or answer is None:
            channel.close()
            raise nnfast.errors.Error(f"{role}: {answer}")
        self.welcome = known or answer
        return channel

    def ask(self, message, fds=()):
        """The answer to a message; None for one that has none."""
        self.calls.send(message, fds)
        return None if isinstance(message, protocol.ONE_WAY) else self.calls.receive(protocol.FROM_SERVER, [])

    def close(self):
        self.events.close()
        self.calls.close()
