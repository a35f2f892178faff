"""A client that does whatever a client must not do, over and over; the errors it gets are what it expects."""

import os
import signal
import socket
import time
from collections import Counter
from pathlib import Path

import numpy as np
from driver_process import Line, plug

import nnfast
from nnfast import Memory, Request, RequestArgument, Role
from nnfast.errors import Error
from nnfast.service import protocol
from nnfast.service.channel import Channel, sealed_memfd

MODEL = Path(nnfast.__file__).parent / "data" / "digits_float32.tflite"
LIFE_SECONDS = 0.2
"""A victim lives for up to twice as long."""


class Hostile:
    """random: random.Random. `done` counts what it did, `refused` how often it was turned away."""

    def __init__(self, path, random):
        self.path, self.random = path, random
        self.done, self.refused = Counter(), 0
        self.model = nnfast.load(MODEL)
        self.deeds = (self.throw_garbage, self.throw_garbage_inside, self.keep_silent, self.read_nothing,
                      self.speak_other_version, self.prepare_too_many, self.run_too_many, self.allocate_too_many,
                      self.shrink_memory, self.flood_descriptors, self.leave_in_the_middle, self.kill_one)

    def do_one(self):
        """Any of them."""
        deed = self.random.choice(self.deeds)
        self.done[deed.__name__] += 1
        try:
            deed()
        except (OSError, Error):
            self.refused += 1

    def _garbage(self):
        return self.random.randbytes(self.random.choice((1, 7, 100, 4000, 60000)))

    def throw_garbage(self):
        """Before a hello."""
        with plug(self.path, 1) as sock:
            for _ in range(self.random.randrange(1, 50)):
                sock.send(self._garbage())

    def throw_garbage_inside(self):
        """In a session, on both kinds of connections."""
        line = Line(self.path)
        try:
            for _ in range(self.random.randrange(1, 50)):
                line.calls.socket.send(self._garbage())
                line.calls.receive(protocol.FROM_SERVER, [])
            line.events.socket.send(self._garbage())
        finally:
            line.close()

    def keep_silent(self):
        """Connections that say nothing, as many as one likes."""
        socks = [plug(self.path, 1) for _ in range(self.random.choice((1, 20, 200)))]
        time.sleep(self.random.random() * 0.2)
        for sock in socks:
            sock.close()

    def read_nothing(self):
        """Calls whose answers nobody fetches."""
        line = Line(self.path)
        line.calls.socket.setblocking(False)
        try:
            while True:
                line.calls.send(protocol.GetStats())
        except BlockingIOError:
            time.sleep(self.random.random() * 0.2)
        finally:
            line.close()

    def speak_other_version(self):
        with plug(self.path, 5) as sock:
            channel = Channel(sock)
            channel.send(protocol.Hello(protocol.MAGIC, protocol.VERSION + 1, "events"))
            channel.receive(protocol.FROM_SERVER, [])

    def prepare_too_many(self):
        device, held = nnfast.connect(self.path), []
        try:
            while True:
                held.append(device.prepare(self.model))
        finally:
            device.close()

    def run_too_many(self):
        device = nnfast.connect(self.path)
        try:
            prepared = device.prepare(self.model)
            inputs = [np.zeros(info.shape, info.dtype) for info in prepared.inputs]
            for future in [prepared.submit(inputs) for _ in range(100)]:
                if self.random.random() < 0.5:
                    future.cancel()
                else:
                    future.result(30)
        finally:
            device.close()

    def allocate_too_many(self):
        device, held = nnfast.connect(self.path), []
        try:
            role = Role(device.prepare(self.model), 0, 1.0)
            while True:
                held.append(device.allocate(input_roles=[role]))
        finally:
            device.close()

    def shrink_memory(self):
        """A pool of a request gets shorter while the driver reads it."""
        fd, device = os.memfd_create("shrinks"), nnfast.connect(self.path)
        try:
            prepared = device.prepare(self.model)
            sizes = [[np.dtype(info.dtype).itemsize * int(np.prod(info.shape)) for info in infos]
                     for infos in (prepared.inputs, prepared.outputs)]
            os.ftruncate(fd, 1 << 16)
            pools = Memory("ashmem", fd, 1 << 16), Memory.create(1 << 16)
            request = Request((RequestArgument(0, 0, sizes[0][0]),), (RequestArgument(1, 0, sizes[1][0]),), pools)
            fence = prepared.execute_fenced(request).fence
            os.ftruncate(fd, 0)
            fence.wait(5)
            prepared.execute(request)
        finally:
            os.close(fd)
            device.close()

    def flood_descriptors(self):
        """Messages with as many descriptors as fit."""
        line = Line(self.path)
        try:
            for _ in range(20):
                line.calls.send(protocol.Ping(), [line.calls.fileno()] * 250)
                line.calls.receive(protocol.FROM_SERVER, [])
        finally:
            line.close()

    def leave_in_the_middle(self):
        """The connections end while calls are running."""
        line = Line(self.path)
        fd = sealed_memfd([bytes(4096)])
        try:
            for _ in range(self.random.randrange(1, 20)):
                line.calls.send(self.random.choice((protocol.GetStats(), protocol.Check("1.3"))), [fd])
            line.calls.socket.shutdown(socket.SHUT_RDWR)
        finally:
            os.close(fd)
            line.close()

    def kill_one(self):
        """A client that works is killed at a random moment."""
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                self._work_until_killed()
            finally:
                os._exit(1)
        time.sleep(self.random.random() * 2 * LIFE_SECONDS)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def _work_until_killed(self):
        while True:
            device = nnfast.connect(self.path)
            prepared = device.prepare(self.model)
            inputs = [np.zeros(info.shape, info.dtype) for info in prepared.inputs]
            for _ in range(10):
                prepared.run(inputs)
                prepared.submit(inputs).result(30)
            if hasattr(prepared, "burst"):
                with prepared.burst() as burst:
                    for _ in range(10):
                        burst.run(inputs)
