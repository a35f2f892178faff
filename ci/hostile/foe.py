"""What all hostile clients have in common."""

import fcntl
import os
import socket
import struct
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from time import sleep

import numpy as np
from line import Line

import nnfast
from nnfast import Memory, Request, RequestArgument
from nnfast.errors import Error
from nnfast.service.wire import models as model_format
from nnfast.service.wire.channel import sealed_memfd

LOCAL_MEMORY = 256 << 20
MODEL = Path(nnfast.__file__).parent / "data" / "digits_float32.tflite"


class Foe:
    """Does one of its deeds after the other. path: of the socket, or None for a client in this process, which does
    those of LOCAL only; random: random.Random.

    Deeds are the public methods of a subclass. `done` counts them, `refused` how often one was turned away, and `wrong`
    lists what the driver should not have let happen.
    """

    LOCAL = ()

    def __init__(self, path, random):
        self.path, self.random = path, random
        self.done, self.refused, self.wrong = Counter(), Counter(), []
        own = set(dir(type(self))) - set(dir(Foe))
        self.deeds = sorted(name for name in own if not name.startswith("_")) if path else self.LOCAL
        self._model = nnfast.load(MODEL)

    def do_one(self):
        """Any deed. To be refused is what it expects."""
        name = self.random.choice(self.deeds)
        self.done[name] += 1
        try:
            getattr(self, name)()
        except (OSError, Error) as error:
            self.refused[f"{name}: {type(error).__name__}"] += 1

    # -- tools ---------------------------------------------------------------------------------------------------------
    def _device(self):
        if self.path is None:
            return nullcontext(nnfast.Device(num_threads=1, memory_limit=LOCAL_MEMORY))
        return _Closing(nnfast.connect(self.path))

    def _line(self):
        return _Closing(Line(self.path))

    def _rest(self, most=0.2):
        """Sleep for up to so many seconds."""
        sleep(self.random.random() * most)

    @staticmethod
    def _request(prepared, memory=None):
        """A request for a model of one input and one output, both of known shape, in one memory."""
        sizes = [int(np.prod(infos[0].shape)) * np.dtype(infos[0].dtype).itemsize
                 for infos in (prepared.inputs, prepared.outputs)]
        at = (sizes[0] + 63) // 64 * 64
        return Request((RequestArgument(0, 0, sizes[0]),), (RequestArgument(0, at, sizes[1]),),
                       (memory or Memory.create(at + sizes[1]),))

    @staticmethod
    def _zeros(prepared):
        return [np.zeros([d or 1 for d in info.shape or (1,)], info.dtype) for info in prepared.inputs]


class _Closing:
    """`with` for what has close()."""

    def __init__(self, thing):
        self._thing = thing

    def __enter__(self):
        return self._thing

    def __exit__(self, *_):
        self._thing.close()


def packed(model):
    """Bytes of a model as the service takes it."""
    fd = model_format.pack(model)
    try:
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)


def sparse_memfd(size, content=b""):
    """Descriptor of a sealed memfd of `size` bytes, of which only `content` takes memory."""
    fd = os.memfd_create("sparse", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size)
        os.pwrite(fd, content, 0)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    except BaseException:
        os.close(fd)
        raise
    return fd


def send_large(channel, data):
    """Send bytes as a message in a memfd, whatever they are."""
    fd = sealed_memfd([data])
    try:
        socket.send_fds(channel.socket, [struct.pack("<BQ", 0xC1, len(data))], [fd])
    finally:
        os.close(fd)
