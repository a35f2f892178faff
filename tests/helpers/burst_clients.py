"""Clients and drivers of bursts for the tests: the first send any packet, the second answer with any."""

import threading

import numpy as np

from helpers.hal_clients import Callback as Told
from nnfast import Memory, ModelBuilder, fmq
from nnfast._native.rings import build_request, parse_request, parse_result
from nnfast.errors import ErrorStatus as S
from nnfast.hal.layout import from_canonical
from nnfast.hal.pools import from_memory

PATIENCE = 600


def channels(**options):
    """A queue for requests, and one for results."""
    return [fmq.MessageQueue.create(dtype, 64, **options) for dtype in (fmq.REQUEST_DATUM, fmq.RESULT_DATUM)]


class Callback:
    """IBurstCallback over a dict of memories. answer: another function of the slots; asked: the slots of all calls."""

    def __init__(self, memories):
        self.memories, self.asked, self.answer = memories, [], None

    def getMemories(self, slots):
        self.asked.append(list(slots))
        if self.answer is not None:
            return self.answer(slots)
        if not all(slot in self.memories for slot in slots):
            return S.INVALID_ARGUMENT, []
        return S.NONE, [from_memory(self.memories[slot]) for slot in slots]


class Client:
    """A burst on a model of one float input and output of 24 bytes; memory 0 has the input, memory 1 the output."""

    def __init__(self, prepared, memories=None, request_capacity=1024, result_capacity=1024):
        self.prepared = prepared
        if memories is None:
            memories = {0: Memory.create(24), 1: Memory.create(24)}
            memories[0].array().view(np.float32)[:] = np.arange(6)
        self.memories, self.callback = memories, Callback(memories)
        self.requests = fmq.MessageQueue.create(fmq.REQUEST_DATUM, request_capacity)
        self.results = fmq.MessageQueue.create(fmq.RESULT_DATUM, result_capacity)
        before = set(prepared.prepared.executor.bursts)
        status, self.context = prepared.configureExecutionBurst(self.callback, self.requests.descriptor,
                                                                self.results.descriptor)
        assert status == S.NONE, prepared.last_error()
        self.burst, = set(prepared.prepared.executor.bursts) - before

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.context = None
        self.wait_for_end()

    def wait_for_end(self):
        """The driver's thread ends."""
        self.burst._thread.join(PATIENCE)
        assert not self.burst.is_alive()

    @property
    def asked(self):
        return self.callback.asked

    def packet(self, slots=(0, 1), measure=True):
        """The valid request."""
        return build_request([(False, 0, 0, 24, ())], [(False, 1, 0, 24, ())], list(slots), measure)

    def send(self, rows):
        assert self.requests.write(np.ascontiguousarray(rows).reshape(-1).view(fmq.REQUEST_DATUM)) == "ok"

    def receive(self):
        """Rows of the one result packet."""
        assert self.results.wait_readable(1, PATIENCE) == "ok", "no answer"
        reason, elements = self.results.read(self.results.readable())
        assert reason == "ok"
        return elements.view(np.uint8).reshape(-1, 24)

    def exchange(self, rows=None):
        self.send(self.packet() if rows is None else rows)
        return parse_result(self.receive())

    def result(self):
        """The output."""
        return self.memories[1].array().view(np.float32)


class Answering:
    """An IPreparedModel whose bursts answer every request with the same rows, or never (None)."""

    class Context:
        """IBurstContext that keeps what is freed."""

        def __init__(self):
            self.freed, self.alive = [], True

        def freeMemory(self, slot):
            self.freed.append(slot)

        def is_alive(self):
            return self.alive

    def __init__(self, answer):
        self.answer, self.slots, self.context = answer, [], self.Context()

    def configureExecutionBurst(self, callback, requests, results):
        self.callback = callback
        queues = fmq.MessageQueue.attach(requests, fmq.REQUEST_DATUM), \
            fmq.MessageQueue.attach(results, fmq.RESULT_DATUM)
        threading.Thread(target=self._work, args=queues, daemon=True).start()
        return S.NONE, self.context

    def _work(self, requests, results):
        while requests.wait_readable(1) == "ok":
            _, elements = requests.read(requests.readable())
            self.slots.append(parse_request(elements.view(np.uint8))[2])
            if self.answer is not None:
                results.write(np.ascontiguousarray(self.answer).reshape(-1).view(fmq.RESULT_DATUM))


class Prepared(Told):
    """Callback of a preparation: waits for the model."""

    def wait(self):
        status, prepared = super().wait()
        assert status == S.NONE
        return prepared


def endless_model():
    """y = x, counted up by 0.25 until it is negative: a loop that its timeout ends."""
    graphs = []
    for name, code, number, out in (("condition", "GREATER_EQUAL", 0.0, "TENSOR_BOOL8"),
                                    ("body", "ADD", 0.25, "TENSOR_FLOAT32")):
        b = ModelBuilder(name)
        x, y = b.input("TENSOR_FLOAT32", (1,)), b.output(out, (1,))
        extra = [b.scalar(0)] if code == "ADD" else []
        graphs.append(b.operation(code, [x, b.constant(np.full(1, number, np.float32)), *extra], [y]))
    b = ModelBuilder("endless")
    x, y = b.input("TENSOR_FLOAT32", (1,)), b.output("TENSOR_FLOAT32", (1,))
    return from_canonical(b.operation("WHILE", [*map(b.subgraph, graphs), x], [y]).build(), "1.3")
