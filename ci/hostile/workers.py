"""Models and values that keep a driver busy: in planning, in one step, in results that nobody has room for."""

import os
import select

import numpy as np

from nnfast import Memory, Request, RequestArgument
from nnfast.errors import Error
from nnfast.service.wire import models as model_format
from nnfast.service.wire import protocol

from . import models
from .foe import Foe


class Workers(Foe):
    LOCAL = ("nest_deeply", "tile_far", "tile_into_an_answer", "gather_from_far", "project_much", "multiply_much",
             "look_into_memory", "loop_without_end")

    def check_on_all_lines(self):
        """The same long model, asked about on many connections at once."""
        fd = model_format.pack(models.chain(2000))
        try:
            with self._line() as line:
                channels = [line.open("calls") for _ in range(40)]
                try:
                    for channel in channels:
                        channel.send(protocol.Check("1.3"), [fd])
                    for _ in range(40):
                        for channel in select.select(channels, [], [], 5)[0]:
                            channel.receive(protocol.FROM_SERVER, [])
                            channel.send(protocol.Check("1.3"), [fd])
                finally:
                    for channel in channels:
                        channel.close()
        finally:
            os.close(fd)

    def plan_without_waiting(self):
        """Preparations that take long, of a client that has gone when they have begun."""
        fd = model_format.pack(models.fan(self.random.choice((2000, 20_000))))
        try:
            with self._line() as line:
                for place in range(4):
                    line.open("calls").send(protocol.Prepare("fast_single_answer", "medium", None, [place]), [fd])
                self._rest(1)
        finally:
            os.close(fd)

    def nest_deeply(self):
        with self._device() as device:
            prepared = device.prepare(models.nested(self.random.choice((20, 150, 400))))
            prepared.run([np.ones(1, np.float32)])

    def tile_far(self):
        """Results of gigabytes, for which the request has 16 bytes."""
        with self._device() as device:
            prepared = device.prepare(models.tile())
            memory = Memory.create(4096)
            times = self.random.choice((10_000_000, 400_000_000, (1 << 31) - 1))
            memory.array()[:8] = np.frombuffer(np.float32(1).tobytes() + np.int32(times).tobytes(), np.uint8)
            request = Request((RequestArgument(0, 0, 4), RequestArgument(0, 4, 4)), (RequestArgument(0, 64, 16),),
                              (memory,))
            prepared.execute(request, deadline=None)

    def tile_into_an_answer(self):
        """The same by run, which would have to send them."""
        with self._device() as device:
            device.prepare(models.tile()).run([np.ones(1, np.float32), np.array([1 << 28], np.int32)])

    def gather_from_far(self):
        with self._device() as device:
            device.prepare(models.gather(self.random.choice((1 << 24, 1 << 28, (1 << 31) - 1))))

    def project_much(self):
        """One numpy step on many values, with a deadline."""
        with self._device() as device:
            prepared = device.prepare(models.projection(50_000))
            prepared.submit([np.zeros((1, 50_000), np.int32)], timeout=0.2).result(60)

    def multiply_much(self):
        """Long native steps on several connections."""
        with self._device() as device:
            prepared = device.prepare(models.product(512))
            inputs = [np.ones((512, 1024), np.float32)]
            for future in [prepared.submit(inputs) for _ in range(6)]:
                future.result(60)

    def look_into_memory(self):
        """A result that nobody computed must be zeros."""
        with self._device() as device:
            prepared = device.prepare(models.empty_into(self.random.choice((100, 5000, 100_000))))
            result, = prepared.run([np.ones(4, np.float32)])
            if np.any(result):
                self.wrong.append(f"look_into_memory: {np.count_nonzero(result)} values of {result.size} are not 0")

    def loop_without_end(self):
        """Executions that only a time limit ends, more of them than there are threads."""
        with self._device() as device:
            prepared = device.prepare(models.endless_loop())
            request = self._request(prepared)
            launched = [prepared.execute_fenced(request, loop_timeout=1.0) for _ in range(30)]
            futures = []
            try:
                futures = [prepared.submit([np.zeros(1, np.float32)], timeout=0.5) for _ in range(10)]
            except Error:
                pass  # too many at a time
            self._rest(1)
            del launched, futures
