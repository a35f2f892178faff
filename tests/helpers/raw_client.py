"""A client without manners, and what is asked of the answers it gets."""

import os
import socket

from nnfast.errors import ErrorStatus
from nnfast.service.wire import models, protocol
from nnfast.service.wire.channel import Channel
from nnfast.service.wire.protocol import Failure, Hello


class Raw:
    """A client without manners: sends whatever it likes."""

    def __init__(self, path):
        self.path, self.fds = path, []
        self.events = self.open()
        self.welcome = self.ask(self.events, Hello("nnfast", protocol.VERSION, "events"))
        self.calls = self.join()

    def open(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.settimeout(600)
        sock.connect(self.path)
        return Channel(sock)

    def join(self):
        channel = self.open()
        answer = self.ask(channel, Hello("nnfast", protocol.VERSION, "calls", self.welcome.session, self.welcome.key))
        assert isinstance(answer, protocol.Done), answer
        return channel

    def ask(self, channel, message, fds=()):
        if isinstance(message, bytes):
            channel.socket.send(message) if not fds else channel._send_with(message, fds)
        else:
            channel.send(message, fds)
        return self.answer(channel)

    def answer(self, channel):
        return channel.receive(protocol.FROM_SERVER, self.fds)

    def call(self, message, fds=()):
        return self.ask(self.calls, message, fds)

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.events.close()
        self.calls.close()


def refused(answer, *words, status=ErrorStatus.INVALID_ARGUMENT):
    assert isinstance(answer, Failure) and answer.status == status, answer
    for word in words:
        assert word in answer.text, answer.text


def sealed(model):
    return models.pack(model)


def prepared_by(raw, model):
    fd = sealed(model)
    answer = raw.call(protocol.Prepare("fast_single_answer", "medium"), [fd])
    os.close(fd)
    assert isinstance(answer, protocol.Prepared), answer
    return answer.number
