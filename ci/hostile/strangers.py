"""Connections: those that say nothing, say the wrong thing, or never listen."""

import select
import socket
import struct

import msgspec
from line import plug

from nnfast.model.records import encode
from nnfast.service.wire import protocol
from nnfast.service.wire.channel import Channel

from .foe import Foe, send_large

HUGE = 1 << 25


class Strangers(Foe):
    def throw_garbage(self):
        """Before a hello."""
        with plug(self.path, 1) as sock:
            for _ in range(self.random.randrange(1, 50)):
                sock.send(self._garbage())

    def throw_garbage_inside(self):
        """In a session, on both kinds of connections."""
        with self._line() as line:
            for _ in range(self.random.randrange(1, 50)):
                line.calls.socket.send(self._garbage())
                line.calls.receive(protocol.FROM_SERVER, [])
            line.events.socket.send(self._garbage())

    def keep_silent(self):
        """Connections that say nothing."""
        socks = [plug(self.path, 1) for _ in range(self.random.choice((1, 20, 200)))]
        self._rest()
        for sock in socks:
            sock.close()

    def say_a_huge_hello(self):
        """A hello with more behind it than anybody reads."""
        body = msgspec.msgpack.encode(["nnfast", protocol.VERSION, "events", 0, b"", None])
        with plug(self.path, 5) as sock:
            channel = Channel(sock)
            send_large(channel, b"\xdd" + struct.pack(">I", 6 + HUGE) + body[1:] + b"\xc0" * HUGE)
            channel.receive(protocol.FROM_SERVER, [])

    def release_without_end(self):
        """Millions of objects that it never had, on the connection that the selector serves."""
        data = encode(protocol.Release([("memory", 1)] * 500_000))
        with self._line() as line:
            send_large(line.events, data)
            send_large(line.calls, data)
            line.ask(protocol.Ping())

    def speak_other_version(self):
        with plug(self.path, 5) as sock:
            channel = Channel(sock)
            channel.send(protocol.Hello(protocol.MAGIC, protocol.VERSION + 1, "events"))
            channel.receive(protocol.FROM_SERVER, [])

    def read_nothing(self):
        """Calls whose answers nobody fetches."""
        with self._line() as line:
            line.calls.socket.setblocking(False)
            try:
                while True:
                    line.calls.send(protocol.GetStats())
            except BlockingIOError:
                self._rest()

    def ask_on_all_lines(self):
        """As many connections as there may be, and the same question on all of them."""
        with self._line() as line:
            channels = [line.open("calls") for _ in range(40)]
            try:
                for channel in channels:
                    channel.send(protocol.GetStats())
                for _ in range(400):
                    ready = select.select(channels, [], [], 5)[0]
                    for channel in ready:
                        channel.receive(protocol.FROM_SERVER, [])
                        channel.send(protocol.GetStats())
            finally:
                for channel in channels:
                    channel.close()

    def hang_up_in_the_middle(self):
        """The connections end while calls are running."""
        with self._line() as line:
            for _ in range(self.random.randrange(1, 20)):
                line.calls.send(protocol.GetStats())
            line.calls.socket.shutdown(socket.SHUT_RDWR)

    def _garbage(self):
        return self.random.randbytes(self.random.choice((1, 7, 100, 4000, 60000)))
