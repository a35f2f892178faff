"""Sessions of a client from bytes: several models are prepared, stored, restored, run in every way and released,
through one face of the driver; whatever comes out is held against the definitions of the operations in numpy.

Byte 0 chooses face and driver, byte 1 the device; then steps follow, each a byte that names it and the bytes that
decide it (play.py). Every input is a session, the longer the more steps it has.
"""

import gc
import os
import threading
import time
from collections import OrderedDict

import numpy as np

from .. import connect
from ..checks import counted
from ..conformance.randgraph.generate import draw_by
from ..errors import InvalidArgument
from .calls import Served
from .decisions import Draws, Source
from .play import Play
from .session_parts import Drawn, Finding

SIZES = ("single",) * 20 + ("small",) * 11 + ("large",)
KEPT = 512
"""Graphs that are remembered from session to session."""

SESSIONS, SPARE, PATIENCE = 200, 24, 30
"""After so many sessions no more than SPARE descriptors and threads may be left of them, some seconds later at most:
threads of released devices end by themselves, on a busy machine not at once."""


class Session:
    """Graphs and the driver that last from session to session. tell(text): gets a line for each step, or None."""

    def __init__(self):
        self.tell = None
        self._drawn, self._served, self._count, self._held = OrderedDict(), None, 0, None

    @staticmethod
    def seeds():
        chance = np.random.default_rng(1)
        for count in (40, 80, 160, 320) * 12:
            yield chance.bytes(count)

    def one(self, data):
        Play(self, Source(data)).run()
        self._count += 1
        if self._count % SESSIONS == 0:
            self._check_left()

    def connected(self):
        """A device of a driver that lasts."""
        if self._served is None:
            self._served = Served()
        return connect(self._served.path)

    def drawn(self, data, version):
        """The Drawn of some bytes, None where no graph comes about."""
        if (data, version) not in self._drawn:
            try:
                size = SIZES[data[0] % len(SIZES)]
                drawn = Drawn.of(draw_by(Draws(data[1:], data[0]), "session", size, None, version))
            except InvalidArgument:
                drawn = None
            self._drawn[data, version] = drawn
            if len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        self._drawn.move_to_end((data, version))
        return self._drawn[data, version]

    def _check_left(self):
        """Compare what the process holds with what it held after the first sessions."""
        gc.collect()
        if self._served is not None:
            self._served.wait()
        held, end = _held(), time.monotonic() + PATIENCE
        if self._held is None:
            self._held = held
        while any(now > before + SPARE for now, before in zip(held, self._held)) and time.monotonic() < end:
            time.sleep(0.02)
            held = _held()
        for name, now, before in zip(("descriptors", "threads"), held, self._held):
            if now > before + SPARE:
                raise Finding(f"{name} grew from {before} to {now} within {counted(self._count, 'session')}")


def _held():
    """Numbers of open descriptors and of threads."""
    return len(os.listdir("/proc/self/fd")), threading.active_count()
