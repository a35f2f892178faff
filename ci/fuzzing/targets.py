"""What is fuzzed: a class per target, whose `one(data)` must end soon and raise nothing.

`seeds()` yields inputs to begin with, beside the corpus; `mutate(data, size, seed)`, where there is one, changes what
lies behind lengths and digests.
"""

import os
import tempfile
import threading
import time
from pathlib import Path
from random import Random

import atheris
import msgspec
import numpy as np
from fuzz_messages import Messages

import nnfast
from nnfast.cli.serve import listen
from nnfast.driver import key, stored_model
from nnfast.errors import Error, InvalidArgument
from nnfast.model.records import align, encode
from nnfast.service.server import model_reader
from nnfast.service.server.connection import Connection
from nnfast.service.server.quotas import Quotas
from nnfast.service.server.server import Options, Server
from nnfast.service.wire.channel import decode, sealed_memfd
from nnfast.service.wire.models import START

from .samples import TOKEN, packed_model, signed_mutations, stored_models, tflite_files

MODEL = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"
MEMORY = 64 << 20
LARGEST_INPUT = 1 << 20
SECONDS = 1.0
"""Deadline of a preparation and of a run."""

PATIENCE = 60
DIGEST_PLACE = stored_model.Content.__struct_fields__.index("data_digest")


def tried(call, *allowed):
    """Result of a call that may refuse; None when it did. The refusal must be one line of at most 1,000 characters."""
    try:
        return call()
    except allowed as error:
        text = str(error)
        if not text or "\n" in text or len(text) > 1000:
            raise AssertionError(f"message of {len(text)} characters: {text[:200]!r}") from error
        return None


def prepare_and_run(model):
    """Prepare a model that was accepted, and run it on zeros, within small limits."""
    device = nnfast.Device(num_threads=1, memory_limit=MEMORY)
    prepared = tried(lambda: device.prepare(model, deadline=time.monotonic() + SECONDS), Error)
    if prepared is not None:
        run(prepared)


def run(prepared):
    """Run on zeros, unless the inputs are large."""
    inputs = []
    for info in prepared.inputs:
        shape = tuple(d or 1 for d in info.shape or (1,))
        if np.prod([float(d) for d in shape]) * info.dtype.itemsize > LARGEST_INPUT:
            return
        inputs.append(np.zeros(shape, info.dtype))
    tried(lambda: prepared.submit(inputs, timeout=SECONDS).result(PATIENCE), Error)


class TfliteFile:
    """The bytes of a .tflite file."""

    @staticmethod
    def seeds():
        yield from tflite_files()

    @staticmethod
    def one(data):
        model = tried(lambda: nnfast.load(bytes(data)), InvalidArgument)
        if model is not None:
            prepare_and_run(model)


class ServiceModel:
    """The memory in which a client sends a model: magic, lengths, header and constants."""

    @staticmethod
    def seeds():
        for data in tflite_files():
            yield packed_model(nnfast.load(data))

    @staticmethod
    def one(data):
        fd = sealed_memfd([bytes(data)])
        try:
            model = tried(lambda: model_reader.unpack(model_reader.open_bytes(fd, 1 << 30)), InvalidArgument)
        finally:
            os.close(fd)
        if model is not None:
            prepare_and_run(model)

    @staticmethod
    def mutate(data, size, seed):
        """A value of the header, with the lengths that go with it; or any bytes."""
        random = Random(seed)
        if random.random() < 0.3 or len(data) < START.size:
            return atheris.Mutate(bytes(data), size)
        magic, length, _ = START.unpack_from(data)
        constants = bytes(data[align(START.size + length):])
        try:
            header = changed(bytes(data[START.size:START.size + length]), random)
        except Exception:  # it holds no msgpack
            return atheris.Mutate(bytes(data), size)
        start = align(START.size + len(header))
        made = START.pack(magic, len(header), start + len(constants)) + header
        return (made.ljust(start, b"\0") + constants)[:size]


class CacheFile:
    """A model file and a data file behind a right signature: length of the model file's content, and both."""

    def __init__(self):
        self._digest = key.digest()

    @staticmethod
    def seeds():
        for head, data in stored_models():
            yield len(head).to_bytes(4, "little") + head + data

    def one(self, data):
        length = int.from_bytes(data[:4], "little")
        head, content = bytes(data[4:4 + length]), np.frombuffer(bytes(data[4 + length:]), np.uint8)
        try:
            file = msgspec.msgpack.decode(head)
            file[1][DIGEST_PLACE] = self._digest.of(content)
            head = msgspec.msgpack.encode(file)
        except Exception:  # it is none, and is signed as it is
            pass
        device = nnfast.Device(num_threads=1, memory_limit=MEMORY)
        fds = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("model", "data")]
        try:
            os.write(fds[0], stored_model.sign(head, self._digest))
            os.write(fds[1], content)
            files = nnfast.CacheFiles((fds[0],), (fds[1],))
            prepared = tried(lambda: device.prepare_from_cache(files, TOKEN, time.monotonic() + SECONDS), Error)
        finally:
            for fd in fds:
                os.close(fd)
        if prepared is not None:
            run(prepared)

    @staticmethod
    def mutate(data, size, seed):
        """Values of the model file, or bytes of the data file."""
        random, mutations = Random(seed), signed_mutations()
        if random.random() < 0.1:
            return atheris.Mutate(bytes(data), size)
        length = int.from_bytes(data[:4], "little")
        head, content = bytes(data[4:4 + length]), np.frombuffer(bytes(data[4 + length:]), np.uint8).copy()
        if random.random() < 0.3 and len(content) > 64:
            mutations.damage(content, random, 64)
        else:
            try:
                head = changed(head, random)
            except Exception:  # it holds no msgpack
                return atheris.Mutate(bytes(data), size)
        return (len(head).to_bytes(4, "little") + head + content.tobytes())[:size]


def changed(data, random):
    """A msgpack of lists with one or two values changed."""
    tree = msgspec.msgpack.decode(data)
    for _ in range(random.choice((1, 1, 2))):
        signed_mutations()._change(tree, random)
    return msgspec.msgpack.encode(tree)


class ControlMessages:
    """Packets of a client, each with a byte that says which descriptors come along: length (2 bytes), byte, packet."""

    SESSION_INPUTS = 2000
    """Inputs after which the session is replaced by a new one."""

    def __init__(self):
        self._messages = Messages(Random(1), nnfast.load(MODEL))
        self._folder = tempfile.TemporaryDirectory()
        self._path = os.path.join(self._folder.name, "s")
        self._server = Server([listen(self._path)], Options(1, quotas=Quotas(memory=MEMORY)))
        threading.Thread(target=self._server.serve, daemon=True).start()
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
        for packet, choice in split(bytes(data)):
            self._channel.message = packet, self._descriptors(choice)
            self._connection._serve_one()
        if self._channel.problem:
            raise AssertionError(self._channel.problem)

    def mutate(self, data, size, seed):
        """One of the packets as a tree, or the bytes of all."""
        random = self._messages.random = Random(seed)
        packets = list(split(bytes(data)))
        if not packets or random.random() < 0.3:
            return atheris.Mutate(bytes(data), size)
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
        return b"".join(join(*packet) for packet in packets)[:size]

    def _open(self):
        if self._device is not None:
            self._device.close()
            while self._server.sessions():
                time.sleep(0.001)
        self._device = nnfast.connect(self._path)
        while not self._server.sessions():
            time.sleep(0.001)
        self._channel = _Direct()
        self._connection = Connection(self._server.sessions()[-1], self._channel)
        self._known = self._messages.begin(self._ask)

    def _ask(self, message, fds):
        self._channel.message = encode(message), fds
        self._connection._serve_one()
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


TARGETS = {"tflite": TfliteFile, "model": ServiceModel, "messages": ControlMessages, "cache": CacheFile}
