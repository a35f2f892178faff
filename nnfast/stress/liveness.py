"""A thread that asks all along whether the driver still works."""

import threading
import time

from .client import Caller
from .outcome import reason_of
from .workers import subjects_of

ROUND_SECONDS = 3.0


class Liveness:
    """Loads, prepares and executes a model over and over, as one more client of the driver, until `stop`.

    way: to the driver; path: of the model. rounds: how often it has
    been loaded; problem: what went wrong, in one line, or None.
    """

    def __init__(self, way, path):
        self.rounds, self.problem = 0, None
        self._stop_set = threading.Event()
        self._subject, = subjects_of([path], 0)
        self._device = way.open()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self, patience):
        """The problem or None, after one more round, which has `patience` seconds."""
        self._stop_set.set()
        self._thread.join(patience)
        if self._thread.is_alive():
            return f"the driver has not answered for {patience:g} s"
        self._device.close()
        return self.problem

    def _run(self):
        try:
            last = False
            while not last:
                last = self._stop_set.is_set()
                self._go_round(0.0 if last else ROUND_SECONDS)
        except BaseException as error:
            self.problem = reason_of(error)

    def _go_round(self, seconds):
        caller = Caller(self._subject, self._device.prepare(self._subject.model))
        try:
            until = time.monotonic() + seconds
            while True:
                if not self._subject.is_right(caller.call("run")):
                    raise ValueError(f"wrong outputs of {self._subject.path}")
                if time.monotonic() > until or seconds and self._stop_set.is_set():
                    break
            self.rounds += 1
        finally:
            caller.close()
