"""Control messages of a client to a server in this process, without sockets between."""

import os
import tempfile
import threading
import time
from random import Random

from .. import connect, load
from ..model.records import encode
from ..service.server.connection import Connection
from ..service.server.listening import listen
from ..service.server.quotas import Quotas
from ..service.server.server import Options, Server
from ..service.wire.channel import decode
from .files import MEMORY, MODEL
from .messages import Messages


class Served:
    """A server in this process, at a socket. path: of the socket."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self._folder.name, "s")
        self._server = Server([listen(self.path)], Options(1, quotas=Quotas(memory=MEMORY)))
        threading.Thread(target=self._server.serve, daemon=True).start()

    def wait(self, count=0):
        """Wait until it has so many sessions; returns them."""
        while len(sessions := self._server.sessions()) != count:
            time.sleep(0.001)
        return sessions


class ControlMessages:
    """Packets of a client, each with a byte that says which descriptors come along: length (2 bytes), byte, packet."""

    SESSION_INPUTS = 2000
    """Inputs after which the session is replaced by a new one."""

    def __init__(self):
        self._messages = Messages(Random(1), load(MODEL))
        self._served = Served()
        self._device, self._inputs = None, 0

    def seeds(self):
        self._open()
        for _ in range(200):
            packets = [self._messages.draw(self._known) for _ in range(self._messages.random.choice((1, 1, 3, 8)))]
            yield b"".join(join(data, 255 if not fds else self._number_of(fds[0])) for data, fds in packets)

    def one(self, data):
        if self._inputs % self.SESSION_INPUTS == 0:
            self._open()
        self._inputs += 1
        for packet, choice in split(data):
            self._channel.message = packet, self._descriptors(choice)
            self._connection.serve_one()
        if self._channel.problem:
            raise AssertionError(self._channel.problem)

    def mutate(self, data, size, random):
        """One of the packets as a tree; or any bytes."""
        self._messages.random = random
        packets = list(split(data))
        if not packets or random.random() < 0.3:
            return None
        place = random.randrange(len(packets))
        packet, choice = packets[place]
        match random.randrange(4):
            case 0:
                packets.append(packets[random.randrange(len(packets))])
            case 1:
                packets[place] = packet, random.randrange(256)
            case _:
                try:
                    packet = self._messages.mutate_tree(packet)
                except Exception:  # it is none
                    packet = self._messages.mutate_bytes(packet)
                packets[place] = packet[:0xFFFF], choice
        return b"".join(join(*packet) for packet in packets)

    def _open(self):
        if self._device is not None:
            self._device.close()
            self._served.wait()
        self._device = connect(self._served.path)
        session, = self._served.wait(1)
        self._channel = _Direct()
        self._connection = Connection(session, self._channel)
        self._known = self._messages.begin(self._ask)

    def _ask(self, message, fds):
        self._channel.message = encode(message), fds
        self._connection.serve_one()
        return self._channel.last

    def _descriptors(self, choice):
        others = self._messages.others
        if choice >= 250:
            return []
        queues = [fd for queue in self._messages.queues for fd in queue.descriptor.fds]
        if choice == 249:
            return queues
        return [others[(choice + place) % len(others)] for place in range(choice // 64 + 1)]

    def _number_of(self, fd):
        others = self._messages.others
        return others.index(fd) if fd in others else 249


class _Direct:
    """Stands for the channel of a connection: gives one message, and takes the answers."""

    def __init__(self):
        self.message, self.last, self.problem, self.sender = None, None, None, 0

    def receive(self, decoder, fds):
        data, given = self.message
        fds += [os.dup(fd) for fd in given]
        return decode(decoder, data) if data else None

    def fileno(self):
        """None: nothing is received natively."""
        return -1

    def take_by(self, receive, buffer):
        """As Channel.take_by; messages come as they are told here."""

    def send(self, message, fds=()):
        encode(message)
        self.last = message
        if "internal error" in getattr(message, "text", ""):
            self.problem = message.text

    def close(self):
        """Nothing is open."""


def join(packet, choice):
    """A packet as a part of an input."""
    return len(packet).to_bytes(2, "little") + bytes([choice]) + packet


def split(data):
    """(packet, choice of descriptors) of an input."""
    at = 0
    while at + 3 < len(data):
        length = int.from_bytes(data[at:at + 2], "little")
        yield data[at + 3:at + 3 + length], data[at + 2]
        at += 3 + length
