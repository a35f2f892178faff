"""Fetching the weights of the next convolution changes no bit, and is planned for every convolution but the last."""

import numpy as np
import pytest

import nnfast
from nnfast._native import conv2d_bf16
from nnfast.compiler import bf16

pytestmark = pytest.mark.skipif(not conv2d_bf16.available(), reason="this machine multiplies no bfloat16")

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
def test_it_changes_no_bit(threads, monkeypatch):
    device = nnfast.Device(threads, precision="bf16")
    found = device.prepare(net()).run([X])[0]
    monkeypatch.setattr(bf16, "refine", lambda lowering: None)
    assert device.prepare(net()).run([X])[0].tobytes() == found.tobytes()


def test_every_convolution_fetches_the_weights_of_the_next(monkeypatch):
    seen = []

    def refine(lowering):
        before = [step for step in lowering.items if isinstance(step, conv2d_bf16.Conv2dBf16)]
        original(lowering)
        seen.append((before, [step for step in lowering.items if isinstance(step, conv2d_bf16.Conv2dBf16)]))

    original = bf16.refine
    monkeypatch.setattr(bf16, "refine", refine)
    nnfast.Device(1).prepare(net())
    assert seen == []
    nnfast.Device(1, precision="bf16").prepare(net())
    [(before, after)] = seen
    weights = [step.slots[1] for step in before]
    assert [step.slots[2:-1] for step in after] == [*((slot,) for slot in weights[1:]), ()]
    assert [(step.slots[0], step.slots[-1]) for step in after] == [(step.slots[0], step.slots[-1]) for step in before]
    assert [step.made_with[1].get("ahead") for step in after] == [*(step.packed for step in before[1:]), None]
