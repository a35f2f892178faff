"""Clients that die, fork, stop and come back at the wrong moment."""

import os
import signal
import time

from nnfast.service.wire import protocol

from .foe import Foe

LIFE_SECONDS = 0.2
"""A victim lives for up to twice as long."""


class Leavers(Foe):
    def kill_one(self):
        """A client that works is killed at a random moment."""
        child = self._child(self._work_for_ever)
        time.sleep(self.random.random() * 2 * LIFE_SECONDS)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def stop_one(self):
        """A client that works is stopped for a while, with whatever it holds."""
        child = self._child(self._work_for_ever)
        time.sleep(self.random.random() * LIFE_SECONDS)
        os.kill(child, signal.SIGSTOP)
        self._rest(1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def hand_down_a_session(self):
        """A child goes on with the parent's connections."""
        with self._line() as line:
            child = self._child(lambda: [line.ask(protocol.GetStats()) for _ in range(5)])
            os.waitpid(child, 0)
            line.ask(protocol.Ping())

    def come_and_go(self):
        """Sessions that end as soon as they have begun."""
        for _ in range(30):
            self._device().__enter__().close()

    def _child(self, work):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                work()
            finally:
                os._exit(1)
        return child

    def _work_for_ever(self):
        while True:
            with self._device() as device:
                prepared = device.prepare(self._model)
                inputs = self._zeros(prepared)
                for _ in range(10):
                    prepared.run(inputs)
                    prepared.submit(inputs).result(30)
                with prepared.burst() as burst:
                    for _ in range(10):
                        burst.run(inputs)
