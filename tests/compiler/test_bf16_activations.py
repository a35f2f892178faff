"""Outputs are written in bfloat16 if only pointwise convolutions in bfloat16 read them, and no bit of a result changes;
every convolution in bfloat16 but the last fetches the weights of the next."""

import numpy as np
import pytest

import nnfast
from nnfast._native import conv as native
from nnfast._native.engine import Bands
from nnfast.compiler.passes import prefetch_weights

pytestmark = pytest.mark.skipif(not native.bf16_available(), reason="this machine multiplies no bfloat16")

FLOAT = "TENSOR_FLOAT32"
X = np.random.default_rng(1).standard_normal((1, 20, 20, 32), np.float32)


def net():
    """Two pointwise convolutions with a depthwise one between, a 3x3 one with stride 2, and a fully connected layer."""
    rng, b = np.random.default_rng(2), nnfast.ModelBuilder("net")
    one, none = b.scalar(1), b.scalar(0)
    x, size = b.input(FLOAT, X.shape), 20
    for name, filter_, stride in (("CONV_2D", (160, 1, 1, 32), 1), ("DEPTHWISE_CONV_2D", (1, 3, 3, 160), 1),
                                  ("CONV_2D", (64, 1, 1, 160), 1), ("CONV_2D", (48, 3, 3, 64), 2)):
        size //= stride
        units, depthwise = filter_[-1 if filter_[0] == 1 else 0], filter_[0] == 1
        w = b.constant(rng.standard_normal(filter_).astype(np.float32))
        y = b.operand(FLOAT, (1, size, size, units))
        scalars = [one, b.scalar(stride), b.scalar(stride), *([one] if depthwise else []), one]
        b.operation(name, [x, w, b.constant(rng.standard_normal(units).astype(np.float32)), *scalars], [y])
        x = y
    w = b.constant(rng.standard_normal((10, size * size * 48)).astype(np.float32))
    b.operation("FULLY_CONNECTED", [x, w, b.constant(np.zeros(10, np.float32)), none], [b.output(FLOAT, (1, 10))])
    return b.build()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_it_changes_no_bit(threads):
    found = nnfast.Device(threads, precision="bf16").prepare(net()).run([X])[0]
    plain = nnfast.Device(threads, precision="bf16", without_passes=["bf16_activations", "prefetch_weights"])
    assert plain.prepare(net()).run([X])[0].tobytes() == found.tobytes()


class Graph:
    """Builds a float32 model operation by operation, with weights that differ."""

    def __init__(self, *shape):
        self.b, self.rng, self.shape = nnfast.ModelBuilder("net"), np.random.default_rng(3), {}
        self.one = self.b.scalar(1)
        self.x = self.b.input(FLOAT, shape)
        self.shape[self.x] = shape

    def _target(self, shape, is_output):
        y = self.b.output(FLOAT, shape) if is_output else self.b.operand(FLOAT, shape)
        self.shape[y] = shape
        return y

    def _constants(self, filter_, units):
        return [self.b.constant(self.rng.standard_normal(shape).astype(np.float32)) for shape in (filter_, units)]

    def conv(self, x, units, taps=1, stride=1, out=True):
        batch, height, width, channels = self.shape[x]
        y = self._target((batch, -(-height // stride), -(-width // stride), units), out)
        numbers = [self.one, self.b.scalar(stride), self.b.scalar(stride), self.one]
        self.b.operation("CONV_2D", [x, *self._constants((units, taps, taps, channels), units), *numbers], [y])
        return y

    def depthwise(self, x, multiplier=1, out=False):
        *pixels, channels = self.shape[x]
        units = channels * multiplier
        y = self._target((*pixels, units), out)
        numbers = [self.one, self.one, self.one, self.b.scalar(multiplier), self.one]
        self.b.operation("DEPTHWISE_CONV_2D", [x, *self._constants((1, 3, 3, units), units), *numbers], [y])
        return y

    def add(self, x, y):
        z = self._target(self.shape[x], True)
        self.b.operation("ADD", [x, y, self.b.scalar(0)], [z])


def before_one_pointwise(channels=32, multiplier=1, batch=1, size=(9, 11)):
    g = Graph(batch, *size, channels)
    g.conv(g.depthwise(g.x, multiplier), 40)
    return g


def before_two_pointwise():
    g = Graph(1, 9, 11, 32)
    y = g.depthwise(g.x)
    g.conv(y, 40), g.conv(y, 24)
    return g


def of_a_large_image():
    """Its steps run in bands."""
    g = Graph(1, 90, 90, 32)
    g.conv(g.depthwise(g.conv(g.depthwise(g.x), 64, out=False)), 64)
    return g


def before_other_readers():
    g = Graph(1, 9, 11, 32)
    y = g.depthwise(g.x)
    g.add(y, g.conv(y, 32, out=False))
    return g


def before_wide_filters(taps, stride):
    g = Graph(1, 9, 11, 32)
    g.conv(g.depthwise(g.x), 40, taps, stride)
    return g


def that_are_results():
    g = Graph(1, 9, 11, 32)
    g.conv(g.depthwise(g.x, out=True), 40)
    return g


def rounding(prepared):
    """Whether each depthwise convolution of a prepared model rounds its outputs."""
    return ["_f32_bf16_" in row["kernel"] for row in prepared.explain().rows if row["operation"] == "DEPTHWISE_CONV_2D"]


@pytest.mark.parametrize("made, wanted", [
    *((before_one_pointwise(channels), [True]) for channels in (1, 3, 16, 20, 33, 64, 100)),
    (before_one_pointwise(multiplier=3), [True]), (before_one_pointwise(batch=2), [True]),
    (before_one_pointwise(48, size=(1, 1)), [True]), (before_two_pointwise(), [True]),
    (of_a_large_image(), [True, True]), (before_other_readers(), [False]), (before_wide_filters(3, 1), [False]),
    (before_wide_filters(1, 2), [False]), (that_are_results(), [False]),
])
def test_rounding_where_outputs_are_made_changes_no_bit(made, wanted):
    model = made.b.build()
    x = np.random.default_rng(4).standard_normal(made.shape[made.x], np.float32)
    devices = [nnfast.Device(threads, precision="bf16") for threads in (1, 2, 3)]
    prepared = [device.prepare(model) for device in devices]
    found = [p.run([x]) for p in prepared]
    assert [rounding(p) for p in prepared] == [wanted] * 3
    plain = nnfast.Device(1, precision="bf16", without_passes=["bf16_activations"]).prepare(model)
    assert not any(rounding(plain))
    for results in found:
        assert [y.tobytes() for y in results] == [y.tobytes() for y in plain.run([x])]


def test_outputs_that_are_kept_are_not_rounded():
    g = before_one_pointwise()
    y = g.b.build().main.operations[0].outputs[0]
    device = nnfast.Device(1, precision="bf16")
    assert rounding(device.prepare(g.b.build(), keep=[y])) == [False]
    assert rounding(device.prepare(g.b.build())) == [True]


def test_large_images_of_bfloat16_go_in_bands():
    prepared = nnfast.Device(1, precision="bf16").prepare(of_a_large_image().b.build())
    steps = [step for step in prepared.executor.segment.items[0].steps if isinstance(step, Bands)]
    assert any("_f32_bf16_" in inner.kernel for step in steps for inner in step.steps)


def test_it_is_exact_without_the_precision():
    assert rounding(nnfast.Device(1).prepare(before_one_pointwise().b.build())) == [False]


def test_every_convolution_fetches_the_weights_of_the_next(monkeypatch):
    seen = []

    def refine(lowering):
        before = [step for step in lowering.items if isinstance(step, native.Conv2dBf16)]
        original(lowering)
        seen.append((before, [step for step in lowering.items if isinstance(step, native.Conv2dBf16)]))

    original = prefetch_weights.refine
    monkeypatch.setattr(prefetch_weights, "refine", refine)
    nnfast.Device(1, precision="bf16").prepare(net())
    [(before, after)] = seen
    weights = [step.slots[1] for step in before]
    assert [step.slots[2:-1] for step in after] == [*((slot,) for slot in weights[1:]), ()]
    assert [(step.slots[0], step.slots[-1]) for step in after] == [(step.slots[0], step.slots[-1]) for step in before]
    assert [step.made_with[1].get("prefetch_bytes") for step in after] == [*(step.packed for step in before[1:]), None]
