"""Float32 convolutions with large weights fetch the first weights of the next one, and compute what they did before."""

import numpy as np
import pytest

import nnfast
from nnfast._native import conv as native
from nnfast.compiler.passes import prefetch_weights

FLOAT = "TENSOR_FLOAT32"
X = np.random.default_rng(1).standard_normal((1, 10, 10, 240), np.float32)


def net(channels=(240, 256, 250, 8, 16)):
    """Pointwise convolutions, the first two with large weights, and a product with another input."""
    rng, b = np.random.default_rng(2), nnfast.ModelBuilder("net")
    x, one = b.input(FLOAT, X.shape), b.scalar(1)
    for depth, units in zip(channels, channels[1:]):
        w = b.constant(rng.standard_normal((units, 1, 1, depth), np.float32))
        x = b.add("CONV_2D", [x, w, b.constant(rng.standard_normal(units, np.float32)), one, one, one, one])
    b.operation("BATCH_MATMUL", [x, b.input(FLOAT, (1, 10, channels[-1], 7)), b.scalar(False), b.scalar(False)],
                [b.output(FLOAT, (1, 10, 10, 7))])
    return b.build()


def prepared_steps(monkeypatch, *channels):
    """Convolutions of the net as they are lowered, and after the pass."""
    seen = []

    def refine(lowering):
        seen.append([step for step in lowering.items if isinstance(step, native.Conv2dF32)])
        original(lowering)
        seen.append([step for step in lowering.items if isinstance(step, native.Conv2dF32)])

    original = prefetch_weights.refine
    with monkeypatch.context() as patch:
        patch.setattr(prefetch_weights, "refine", refine)
        nnfast.Device(1).prepare(net(*channels))
    return seen


def test_large_ones_fetch_the_first_of_the_next(monkeypatch):
    before, after = prepared_steps(monkeypatch)
    assert [step.streamed for step in before] == [True, True, False, False, False]
    fetched = [step.made_with[1].get("prefetch_bytes") for step in after]
    assert fetched == [before[0].prefetch, before[2].packed, None, None, None]
    assert [step.slots[2:-1] for step in after] == [(before[1].slots[1],), (before[2].slots[1],), (), (), ()]
    assert [(step.slots[0], step.slots[-1]) for step in after] == [(step.slots[0], step.slots[-1]) for step in before]


def test_weights_that_a_step_makes_are_not_fetched(monkeypatch):
    _, (conv, product) = prepared_steps(monkeypatch, (240, 256))
    assert conv.streamed and len(conv.slots) == len(product.slots) == 3


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_it_changes_no_bit(threads):
    inputs = [X, np.random.default_rng(3).standard_normal((1, 10, 16, 7), np.float32)]
    found = nnfast.Device(threads).prepare(net()).run(inputs)[0]
    plain = nnfast.Device(1, without_passes=["prefetch_weights"]).prepare(net())
    assert found.tobytes() == plain.run(inputs)[0].tobytes()
