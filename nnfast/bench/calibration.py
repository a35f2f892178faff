"""Capabilities of this machine, measured on small models [NN 1.8].

The reference CPU is this processor running the scalar kernels, which define every operation: what the portable
implementation of the standard would do here. The driver runs the kernels of the level in force. Both have one thread,
so that the ratio is that of the kernels, holds for devices of any number of threads and can be measured on a machine
that has other work. Time is the ratio of the shortest run times; power is the ratio of the shortest processor times, as
there is no meter for energy: a core that works takes about the same either way.
"""

import time

import numpy as np

from .. import ModelBuilder
from .._native import kernels
from ..driver.capabilities import OPERANDS, OTHERS, Performance, store
from ..driver.device import Device
from ..driver.prepared import PreparedModel
from ..model.types import OperandType
from ..ops.base import ABBREVIATIONS
from .levels import at_level

ROUNDS = 7
TURN_SECONDS, BATCH_SECONDS = 0.02, 0.001
"""In each round a workload runs this long, in batches of about so long; its best batch of all rounds counts."""

_T = OperandType
_SCALE, _WEIGHT_SCALE = 0.05, 0.01
_ALIKE = {_T.FLOAT32: _T.TENSOR_FLOAT32, _T.INT32: _T.TENSOR_INT32, _T.UINT32: _T.TENSOR_INT32,
          _T.BOOL: _T.TENSOR_BOOL8, _T.FLOAT16: _T.TENSOR_FLOAT16}
"""Operations go by the type of their first operand, which next to never is a scalar: those have a tensor's numbers."""


# -- workloads ---------------------------------------------------------------------------------------------------------
def network(kind, relaxed=False):
    """3x3 and 1x1 convolutions, a depthwise one, an addition, pooling, a fully connected layer, softmax."""
    b, rng = ModelBuilder(OperandType(kind).name.lower()), np.random.default_rng(1)
    quantized = kind in (_T.TENSOR_QUANT8_ASYMM, _T.TENSOR_QUANT8_ASYMM_SIGNED)
    form = {"scale": _SCALE, "zero_point": 128 if kind == _T.TENSOR_QUANT8_ASYMM else 0} if quantized else {}
    float_type = np.float16 if kind == _T.TENSOR_FLOAT16 else np.float32

    def weights(*shape):
        values = rng.standard_normal(shape) / 8
        if kind == _T.TENSOR_QUANT8_ASYMM:
            return b.constant((values * 64 + 128).clip(0, 255).astype(np.uint8), kind, _WEIGHT_SCALE, 128)
        if kind == _T.TENSOR_QUANT8_ASYMM_SIGNED:
            return b.constant((values * 64).clip(-127, 127).astype(np.int8), kind, _WEIGHT_SCALE, 0)
        return b.constant(values.astype(float_type))

    def bias(count):
        if quantized:
            return b.constant(np.zeros(count, np.int32), scale=_SCALE * _WEIGHT_SCALE)
        return b.constant(np.zeros(count, float_type))

    def value(*shape):
        return b.operand(kind, shape, **form)

    one, same, none = b.scalar(1), b.scalar(1), b.scalar(0)
    x = b.input(kind, (1, 32, 32, 8), **form)
    first, second, third, total, pooled = *(value(1, 32, 32, 16) for _ in range(4)), value(1, 4, 4, 16)
    b.operation("CONV_2D", [x, weights(16, 3, 3, 8), bias(16), same, one, one, one], [first])
    b.operation("DEPTHWISE_CONV_2D", [first, weights(1, 3, 3, 16), bias(16), same, one, one, one, one], [second])
    b.operation("CONV_2D", [second, weights(16, 1, 1, 16), bias(16), same, one, one, none], [third])
    b.operation("ADD", [first, third, none], [total])
    eight = b.scalar(8)
    b.operation("AVERAGE_POOL_2D", [total, b.scalar(2), eight, eight, eight, eight, none], [pooled])
    classes = value(1, 10)
    b.operation("FULLY_CONNECTED", [pooled, weights(10, 256), bias(10), none], [classes])
    answer = {"scale": 1 / 256, "zero_point": 0 if kind == _T.TENSOR_QUANT8_ASYMM else -128} if quantized else {}
    beta = b.scalar(np.float16(1) if kind == _T.TENSOR_FLOAT16 else 1.0)
    b.operation("SOFTMAX", [classes, beta], [b.output(kind, (1, 10), **answer)])
    return b.relaxed(relaxed).build()


def integers():
    """Sums, products and comparisons of int32."""
    b, shape = ModelBuilder("tensor_int32"), (64, 256)
    x, y = b.input(_T.TENSOR_INT32, shape), b.input(_T.TENSOR_INT32, shape)
    total, product = b.operand(_T.TENSOR_INT32, shape), b.operand(_T.TENSOR_INT32, shape)
    b.operation("ADD", [x, y, b.scalar(0)], [total])
    b.operation("MUL", [total, y, b.scalar(0)], [product])
    return b.operation("MAXIMUM", [product, x], [b.output(_T.TENSOR_INT32, shape)]).build()


def truths():
    """Logic on booleans."""
    b, shape = ModelBuilder("tensor_bool8"), (64, 256)
    x, y = b.input(_T.TENSOR_BOOL8, shape), b.input(_T.TENSOR_BOOL8, shape)
    both, neither = b.operand(_T.TENSOR_BOOL8, shape), b.operand(_T.TENSOR_BOOL8, shape)
    b.operation("LOGICAL_AND", [x, y], [both])
    b.operation("LOGICAL_NOT", [both], [neither])
    return b.operation("LOGICAL_OR", [neither, x], [b.output(_T.TENSOR_BOOL8, shape)]).build()


def dequantizing(kind):
    """DEQUANTIZE, of types that are otherwise weights."""
    b, shape = ModelBuilder(OperandType(kind).name.lower()), (64, 256)
    form = {"channel_quant": (0, (0.5,) * 64)} if kind == _T.TENSOR_QUANT8_SYMM_PER_CHANNEL else {"scale": 0.5}
    return b.operation("DEQUANTIZE", [b.input(kind, shape, **form)], [b.output(_T.TENSOR_FLOAT32, shape)]).build()


def casting(kind):
    """CAST to itself, of types that hardly any operation has first."""
    b, shape = ModelBuilder(OperandType(kind).name.lower()), (64, 256)
    return b.operation("CAST", [b.input(kind, shape, 0.5)], [b.output(kind, shape, 0.5)]).build()


def branching():
    """An IF with next to nothing in its branches."""
    branches = []
    for name in ("RELU", "RELU6"):
        inner = ModelBuilder(name)
        x, y = inner.input(_T.TENSOR_FLOAT32, (1,)), inner.output(_T.TENSOR_FLOAT32, (1,))
        branches.append(inner.operation(name, [x], [y]))
    b = ModelBuilder("if")
    condition, x = b.input(_T.TENSOR_BOOL8, (1,)), b.input(_T.TENSOR_FLOAT32, (1,))
    y = b.output(_T.TENSOR_FLOAT32, (1,))
    return b.operation("IF", [condition, *map(b.subgraph, branches), x], [y]).build()


def looping():
    """A WHILE that counts to four."""
    condition = ModelBuilder("condition")
    x, more = condition.input(_T.TENSOR_INT32, (1,)), condition.output(_T.TENSOR_BOOL8, (1,))
    condition.operation("LESS", [x, condition.constant(np.array([4], np.int32))], [more])
    body = ModelBuilder("body")
    x, y = body.input(_T.TENSOR_INT32, (1,)), body.output(_T.TENSOR_INT32, (1,))
    body.operation("ADD", [x, body.constant(np.array([1], np.int32)), body.scalar(0)], [y])
    b = ModelBuilder("while")
    x, y = b.input(_T.TENSOR_INT32, (1,)), b.output(_T.TENSOR_INT32, (1,))
    return b.operation("WHILE", [b.subgraph(condition), b.subgraph(body), x], [y]).build()


def workloads():
    """{operand type, or name of capabilities.OTHERS: model} of everything that is measured."""
    relaxed = network(_T.TENSOR_FLOAT32, relaxed=True)
    return {
        **{ABBREVIATIONS[name]: network(ABBREVIATIONS[name]) for name in ("F32", "F16", "Q8", "Q8S")},
        _T.TENSOR_INT32: integers(), _T.TENSOR_BOOL8: truths(),
        **{ABBREVIATIONS[name]: dequantizing(ABBREVIATIONS[name]) for name in ("Q8SY", "PC")},
        **{ABBREVIATIONS[name]: casting(ABBREVIATIONS[name]) for name in ("Q16S", "Q16A")},
        "relaxed_tensor": relaxed, "branch": branching(), "loop": looping(),
    }


# -- measuring ---------------------------------------------------------------------------------------------------------
def calibrate(progress=lambda done, total, note="": None):
    """Measure, store the numbers and return the path of their file (seconds). progress: of cli.output.progress."""
    level, found, models = kernels.level(), {}, workloads()
    for done, (key, model) in enumerate(models.items()):
        progress(done, len(models), model.name)
        ours = _Run(model, level)
        found[key] = compare(ours, _Run(model, "scalar", ours))
    found["relaxed_scalar"] = found["relaxed_tensor"]
    progress(len(models), len(models))
    return store({kind: found[_ALIKE.get(kind, kind)] for kind in OPERANDS}, {name: found[name] for name in OTHERS})


class _Run:
    """A model prepared for a level. best: seconds and processor seconds of a run, at best so far.

    other: a run of the same model, whose arrays it shares: where they lie counts, in the smallest workloads.
    """

    def __init__(self, model, level, other=None):
        with at_level(level):
            self._prepared = PreparedModel(Device(1), model)  # without the compilation cache of NNFAST_CACHE_DIR
        self._inputs = [np.zeros(i.shape, i.dtype) for i in self._prepared.inputs] if other is None else other._inputs
        self._outputs = self._prepared.run(self._inputs) if other is None else other._outputs
        self.best = float("inf"), float("inf")

    def turn(self):
        """Run for a while, after a run that does not count."""
        spent = self._batch(1)[0]
        count, end = max(1, int(BATCH_SECONDS / spent)), time.perf_counter() + TURN_SECONDS
        while time.perf_counter() < end:
            self.best = tuple(map(min, self.best, self._batch(count)))

    def _batch(self, count):
        """Seconds and processor seconds of each of `count` runs."""
        began, began_cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            self._prepared.run(self._inputs, self._outputs)
        spent_cpu, spent = time.process_time() - began_cpu, time.perf_counter() - began
        return max(spent, 1e-9) / count, max(spent_cpu, 1e-9) / count


def compare(ours, reference):
    """Performance of one run against another, in turns; rounded to four figures."""
    for _ in range(ROUNDS):
        ours.turn()
        reference.turn()
    return Performance(*(float(f"{a / b:.4g}") for a, b in zip(ours.best, reference.best)))
