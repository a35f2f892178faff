"""Layer normalization in its operations is one step, where nothing else needs what lies between."""

import numpy as np
import pytest

import nnfast
from helpers.steps import at_level, every_level

FLOAT, NAME = "TENSOR_FLOAT32", "layer_norm_fusion"


class Builder:
    """A model of operations on float32 tensors, of whose results only named ones and the last are outputs."""

    def __init__(self, seen=()):
        self.b, self.seen, self.shapes = nnfast.ModelBuilder("normal"), seen, {}

    def input(self, shape):
        x = self.b.input(FLOAT, shape)
        self.shapes[x] = shape
        return x

    def constant(self, array):
        array = np.asarray(array, np.float32)
        c = self.b.constant(array)
        self.shapes[c] = array.shape
        return c

    def op(self, name, *inputs, more=(), label="", is_last=False, shape=None):
        shape = np.broadcast_shapes(*(self.shapes[x] for x in inputs)) if shape is None else shape
        y = (self.b.output if is_last or label in self.seen else self.b.operand)(FLOAT, shape)
        self.b.operation(name, [*inputs, *more], [y])
        self.shapes[y] = shape
        return y

    def two(self, name, x, y, activation=0, **more):
        return self.op(name, x, y, more=[self.b.scalar(activation)], **more)

    def mean(self, x, label, axis=-1):
        shape = list(self.shapes[x])
        shape[axis] = 1
        return self.op("MEAN", x, more=[self.b.constant(np.int32([axis])), self.b.scalar(1)], label=label,
                       shape=tuple(shape))


GAMMA, BETA = np.linspace(0.5, 1.5, 40), np.linspace(-1, 1, 40)


def normalized(form, shape=(2, 7, 40), parts="gamma beta", swapped=False, seen=(), axis=-1, activation=0, between=0,
               is_computed=False):
    """Normalization of the last dimension as files have it. form: folded, times or divided; parts: factors that it has;
    swapped: the operands of sums and products; seen: names of results that are outputs; activation, between: of the
    last operation, of the difference from the mean; is_computed: epsilon is an input."""
    m = Builder(seen)
    n = shape[-1]
    x = m.input(shape)

    def pair(name, a, b, **more):
        return m.two(name, *((b, a) if swapped and name in ("ADD", "MUL") else (a, b)), **more)

    mean = m.mean(x, "mean", axis)
    centred = m.two("SUB", x, mean, between, label="centred")
    variance = m.mean(pair("MUL", centred, centred, label="square"), "variance", axis)
    moved = pair("ADD", variance, m.input((1,)) if is_computed else m.constant([1e-3]), label="moved")
    gamma, beta = m.constant(GAMMA[:n]), m.constant(BETA[:n])
    root = m.op("SQRT" if form == "divided" else "RSQRT", moved, label="root")
    if form == "folded":
        factor = pair("MUL", root, gamma, label="factor")
        scaled = pair("MUL", x, factor, label="scaled")
        offset = m.two("SUB", beta, pair("MUL", mean, factor, label="shift"), label="offset")
        pair("ADD", scaled, offset, is_last=True, activation=activation)
        return m.b.build()
    last = [part for part in ("root", "gamma", "beta") if part in f"root {parts}"][-1]
    if form == "divided":
        y = m.two("DIV", centred, root, is_last=last == "root", activation=activation * (last == "root"))
    else:
        y = pair("MUL", centred, root, is_last=last == "root", activation=activation * (last == "root"))
    if "gamma" in parts:
        y = pair("MUL", y, gamma, is_last=last == "gamma", activation=activation * (last == "gamma"))
    if "beta" in parts:
        pair("ADD", y, beta, is_last=True, activation=activation)
    return m.b.build()


FORMS = [("folded", "gamma beta"), *((form, parts) for form in ("times", "divided")
                                     for parts in ("", "gamma", "beta", "gamma beta"))]


def inputs_of(prepared):
    rng = np.random.default_rng(4)
    return [rng.uniform(1, 9, info.shape).astype(np.float32) for info in prepared.inputs]


def check(model, threads=1, tolerance=5e-6):
    """With and without the pass the results differ by no more than this, relative to the largest."""
    one, two = nnfast.Device(threads).prepare(model), nnfast.Device(threads, without_passes=[NAME]).prepare(model)
    assert NAME not in two.explain().passes
    x = inputs_of(one)
    for found, wanted in zip(one.run(x), two.run(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * max(1, np.abs(wanted).max()))
    return one, x


@pytest.mark.parametrize("shape", [(2, 7, 40), (1, 3, 3, 17), (33, 1), (1, 40), (5,)])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("form", "parts"), FORMS)
def test_one_step(form, parts, swapped, shape):
    prepared, (x,) = check(normalized(form, shape, parts, swapped), tolerance=2e-5)  # rows of one value have no spread
    explained = prepared.explain()
    assert NAME in explained.passes
    kernels = [row["kernel"] for row in explained.rows if row["joined"] is None]
    assert len(kernels) == 1 and "nnf_layer_norm" in kernels[0]
    exact = x.astype(np.float64)
    wanted = (exact - exact.mean(-1, keepdims=True)) / np.sqrt(exact.var(-1, keepdims=True) + 1e-3)
    wanted = wanted * GAMMA[:shape[-1]] if "gamma" in parts else wanted
    wanted = wanted + BETA[:shape[-1]] if "beta" in parts else wanted
    np.testing.assert_allclose(prepared.run([x])[0], wanted, rtol=0, atol=2e-5)


@every_level
@pytest.mark.parametrize(("form", "parts"), FORMS)
def test_at_each_level_and_on_more_threads(form, parts, level):
    model = normalized(form, (3, 300, 33), parts)
    with at_level(level):
        one, x = check(model)
        for threads in (2, 3):
            assert nnfast.Device(threads).prepare(model).run(x)[0].tobytes() == one.run(x)[0].tobytes()


@pytest.mark.parametrize("name", ["mean", "centred", "square", "variance", "moved", "root", "factor", "scaled", "shift",
                                  "offset"])
def test_what_others_see_is_there(name):
    prepared, _ = check(normalized("folded", seen=[name]))
    assert "nnf_layer_norm" not in str(prepared.explain())


@pytest.mark.parametrize("change", [{"axis": 1}, {"activation": 1}, {"between": 1}, {"is_computed": True}])
def test_what_is_nearly_that_stays(change):
    prepared, _ = check(normalized("folded", **change))
    assert "nnf_layer_norm" not in str(prepared.explain())


def test_a_normalization_ends_before_an_activation():
    prepared, _ = check(normalized("times", activation=1))
    kernels = [row["kernel"] for row in prepared.explain().rows if row["joined"] is None]
    assert len(kernels) == 2 and "nnf_layer_norm" in kernels[0] and "nnf_add" in kernels[1]


def test_infinities_and_nans_spread_as_before():
    model = normalized("times", (4, 40))
    one, two = nnfast.Device(1).prepare(model), nnfast.Device(1, without_passes=[NAME]).prepare(model)
    x = np.ones((4, 40), np.float32)
    x[1, 3], x[2, 5], x[3] = np.nan, np.inf, 1e30
    np.testing.assert_array_equal(np.isnan(one.run([x])[0]), np.isnan(two.run([x])[0]))
