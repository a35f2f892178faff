"""Measures csrc/fmq, nnfast/fmq, nnfast/bench/rings.py: rings between two processes, and calls from Python."""

import numpy as np

from nnfast import fmq
from nnfast.bench import rings


class Rings:
    """A ring, and what it is compared with, between two processes. On one processor the rows that spin are left out."""

    params = ([way.name for way in rings.WAYS],)
    param_names = ("way",)

    def setup(self, way):
        self.rows = rings.measure(turns=2, only=(way,))["rows"]
        if not self.rows:
            raise NotImplementedError("needs two processors")

    def track_round_trip_us(self, way):
        return self._median("round_trip_us")

    def track_messages_per_s(self, way):
        return self._median("messages_per_s")

    def _median(self, name):
        found = self.rows[0][name]
        return found["median"] if found else float("nan")


class Calls:
    """What a call costs from Python, both sides in one process."""

    params = ([1, 64],)
    param_names = ("elements",)

    def setup(self, elements):
        self.writer = fmq.MessageQueue.create(fmq.REQUEST_DATUM, 1024)
        self.reader = fmq.MessageQueue.attach(self.writer.descriptor, fmq.REQUEST_DATUM)
        self.elements = np.zeros(elements, fmq.REQUEST_DATUM)

    def teardown(self, elements):
        self.writer.close()
        self.reader.close()

    def time_write_and_read(self, elements):
        self.writer.write(self.elements)
        self.reader.read(elements)

    def time_without_copies(self, elements):
        self.writer.begin_write(elements)
        self.writer.commit_write(elements)
        self.reader.begin_read(elements)
        self.reader.commit_read(elements)
