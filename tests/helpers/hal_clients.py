"""A client of the HAL for the tests: callbacks that remember, small HIDL models and requests."""

import threading

import numpy as np

from nnfast import Memory, ModelBuilder
from nnfast.errors import ErrorStatus as S
from nnfast.hal import v1_3
from nnfast.hal.layout import from_canonical
from nnfast.hal.types import (
    DataLocation,
    MemoryPool,
    Operand,
    Operation,
    Request,
    RequestArgument,
    Subgraph,
)
from nnfast.hal.types import Model1_3 as Model

FLOAT = "TENSOR_FLOAT32"
NO_TIME = v1_3.Timing()
L = v1_3.OperandLifeTime
T = v1_3.OperandType


class Callback:
    """Remembers what it was told, by which method and on which thread."""

    def __init__(self):
        self.calls, self.methods, self.threads = [], [], []
        self._told = threading.Event()

    def told(self, method, results):
        self.calls.append(results)
        self.methods.append(method)
        self.threads.append(threading.current_thread())
        self._told.set()

    def wait(self):
        assert self._told.wait(600), "no callback"
        assert len(self.calls) == 1
        return self.calls[0]

    def notify(self, *results):
        self.told("notify", results)


class Callback1_2(Callback):
    def notify_1_2(self, *results):
        self.told("notify_1_2", results)


class Callback1_3(Callback1_2):
    def notify_1_3(self, *results):
        self.told("notify_1_3", results)


def add_model(shape=(2, 3), value=1.0, hal="1.3", declared=None):
    """y = x + value, as a HIDL model; declared: dims of the output when other than the shape."""
    b = ModelBuilder("add")
    x = b.input(FLOAT, shape)
    w = b.constant(np.full([d or 1 for d in shape], value, np.float32))
    y = b.output(FLOAT, shape if declared is None else declared)
    return from_canonical(b.operation("ADD", [x, w, b.scalar(0)], [y]).build(), hal)


def raw_add(dims=(2, 3)):
    """y = x + x written out as HIDL records: x 0, y 1, activation 2."""
    zero = Operand(T.INT32, [], 1, 0.0, 0, L.CONSTANT_COPY, DataLocation(0, 0, 4))
    operands = [Operand(T.TENSOR_FLOAT32, list(dims), 2, lifetime=L.SUBGRAPH_INPUT),
                Operand(T.TENSOR_FLOAT32, list(dims), 0, lifetime=L.SUBGRAPH_OUTPUT), zero]
    return Model(Subgraph(operands, [Operation(0, [0, 0, 2], [1])], [0], [1]), [], bytes(4))


def prepare(device, model=None):
    """Prepared model of a device of any version."""
    callback = Callback()
    hal = device.hal
    model = model if model is not None else add_model(hal=hal)
    arguments = {"1.0": (), "1.1": (1,), "1.2": (1, [], [], bytes(32)), "1.3": (1, 1, None, [], [], bytes(32))}[hal]
    name = "prepareModel" if hal == "1.0" else f"prepareModel_{hal.replace('.', '_')}"
    assert getattr(device, name)(model, *arguments, callback) == 0, device.last_error()
    status, prepared = callback.wait()
    assert status == 0, device.last_error()
    return prepared


def execute(prepared, request):
    """The status, which all ways to execute must agree on."""
    status, shapes, timing = prepared.executeSynchronously_1_3(request, 0, None, None)
    if status != S.NONE:
        assert (shapes, timing) == ([], NO_TIME)
        assert prepared.executeFenced(request, [], 0, None, None, None) == (status, None, None)
        callback = Callback()
        launched = prepared.execute_1_3(request, 0, None, None, callback)
        assert callback.wait() == (status,) and launched in (S.NONE, status)
    return status


class Pools:
    """A request of one input and one output of `nbytes` each, in memory of their own."""

    def __init__(self, nbytes=24, hal="1.3", out_bytes=None, dims=()):
        self.memories = Memory.create(nbytes), Memory.create(out_bytes or nbytes)
        self.input, self.output = (memory.array() for memory in self.memories)
        self.input.view(np.float32)[:] = np.arange(nbytes // 4)
        pools = [MemoryPool(m) for m in self.memories] if hal == "1.3" else list(self.memories)
        self.request = Request([RequestArgument(False, DataLocation(0, 0, nbytes), list(dims))],
                               [RequestArgument(False, DataLocation(1, 0, out_bytes or nbytes), [])], pools)
