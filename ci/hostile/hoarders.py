"""Clients that want all there is: memory, descriptors, address space, threads, sessions."""

import os

from line import Line

from nnfast import Memory, Role
from nnfast.errors import Error
from nnfast.service.wire import protocol

from .foe import Foe, packed, sparse_memfd
from .models import small


class Hoarders(Foe):
    def prepare_too_many(self):
        held = []
        with self._device() as device:
            while True:
                held.append(device.prepare(self._model))

    def run_too_many(self):
        with self._device() as device:
            prepared = device.prepare(self._model)
            inputs = self._zeros(prepared)
            for future in [prepared.submit(inputs) for _ in range(100)]:
                if self.random.random() < 0.5:
                    future.cancel()
                else:
                    future.result(30)

    def allocate_too_many(self):
        held = []
        with self._device() as device:
            role = Role(device.prepare(self._model), 0, 1.0)
            while True:
                held.append(device.allocate(input_roles=[role]))

    def flood_descriptors(self):
        """Messages with as many descriptors as fit."""
        with self._line() as line:
            for _ in range(20):
                line.calls.send(protocol.Ping(), [line.calls.fileno()] * 250)
                line.calls.receive(protocol.FROM_SERVER, [])

    def keep_memories(self):
        """Thousands of memories in each of several sessions."""
        memory, lines = Memory.create(4096), []
        try:
            for _ in range(8):
                lines.append(Line(self.path))
                for number in range(1, 4090):
                    lines[-1].calls.send(protocol.AddMemory(number, "ashmem", 4096, 3, 0), [memory.fileno()])
                lines[-1].ask(protocol.Ping())
            self._rest()
        finally:
            for line in lines:
                line.close()

    def fill_address_space(self):
        """Arenas of terabytes that hold nothing."""
        lines = []
        try:
            for size in (1 << 46, 1 << 44, 1 << 42, 1 << 40, 1 << 38, 1 << 34, 1 << 31):
                lines.append(Line(self.path))
                for _ in range(20):
                    if not self._send_arena(lines[-1], size):
                        break
            self._rest()
        finally:
            for line in lines:
                line.close()

    @staticmethod
    def _send_arena(line, size):
        try:
            fd = sparse_memfd(size)
        except OSError:
            return False
        try:
            line.calls.send(protocol.Arena(size), [fd])
        finally:
            os.close(fd)
        return isinstance(line.ask(protocol.Ping()), protocol.Done)

    def pad_models(self):
        """Models whose memory goes on behind their end."""
        content = packed(small())
        size = self.random.choice((1 << 26, 1 << 30, 3 << 30))
        with self._line() as line:
            for _ in range(3):
                # The length that the model says of itself, too.
                fd = sparse_memfd(size, content[:16] + size.to_bytes(8, "little") + content[24:])
                try:
                    line.ask(protocol.Prepare("fast_single_answer", "medium"), [fd])
                finally:
                    os.close(fd)
            self._rest()

    def open_sessions(self):
        """One session after the other, none of them closed before the last."""
        lines = []
        try:
            while len(lines) < 500:
                lines.append(Line(self.path))
        finally:
            self._rest()
            for line in lines:
                line.close()

    def fork_many(self):
        """A family of processes, each of which takes what one client may have."""
        children = []
        for _ in range(8):
            child = os.fork()
            if child == 0:
                try:
                    self.keep_memories()
                except (OSError, Error):
                    pass
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
