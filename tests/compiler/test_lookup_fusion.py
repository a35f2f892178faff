"""What is a function of one 8-bit code is one look-up, with the same codes as the operations it was."""

import numpy as np
import pytest

import nnfast
from nnfast.record import replace

NAME = "lookup_fusion"
KINDS = {"uint8": "TENSOR_QUANT8_ASYMM", "int8": "TENSOR_QUANT8_ASYMM_SIGNED"}
SHAPE = (1, 12, 11, 10)


class Net:
    """A model of one input whose operations follow each other."""

    def __init__(self, kind, shape=SHAPE, scale=0.05):
        self.b, self.kind, self.shape = nnfast.ModelBuilder("net"), KINDS[kind], shape
        self.low = -128 if kind == "int8" else 0
        self.x = self.b.input(self.kind, shape, **self.quant(scale, 117))

    def quant(self, scale, zero_point):
        return {"scale": scale, "zero_point": zero_point + self.low}

    def put(self, name, *inputs, scale=0.07, zero_point=99, seen=False):
        """Output of an operation, which the model returns if it is seen."""
        made = (self.b.output if seen else self.b.operand)(self.kind, self.shape, **self.quant(scale, zero_point))
        self.b.operation(name, list(inputs), [made])
        return made

    def gate(self, x, **more):
        return self.put("LOGISTIC", x, scale=1 / 256, zero_point=0, **more)

    def pair(self, name, a, b, activation=0, **more):
        return self.put(name, a, b, self.b.scalar(activation), **more)


def swish(n):
    n.pair("MUL", n.x, n.gate(n.x), seen=True)


def swapped_with_activation(n):
    n.pair("MUL", n.gate(n.x), n.x, activation=1, seen=True)


def square(n):
    n.pair("MUL", n.x, n.x, seen=True)


def twice(n):
    n.pair("ADD", n.x, n.x, seen=True)


def difference(n):
    n.pair("SUB", n.x, n.gate(n.x), seen=True)


def chain(n):
    n.gate(n.put("TANH", n.x, scale=1 / 128, zero_point=128), seen=True)


def square_of_gate(n):
    n.pair("MUL", *[n.gate(n.x)] * 2, seen=True)


def several(n):
    x = n.x
    for _ in range(3):
        x = n.pair("MUL", x, n.gate(x))
    n.pair("ADD", x, n.x, seen=True)


ONE = (swish, swapped_with_activation, square, twice, difference, chain, square_of_gate, several)
"""Networks that are one look-up."""


def built(make, kind, **more):
    n = Net(kind, **more)
    make(n)
    return n.b.build()


def kernels(prepared):
    """Kernels of the rows that have steps."""
    return [row["kernel"] for row in prepared.explain().rows if row.get("joined") is None]


def are_look_ups(names):
    """A table that is a line is computed where that is faster."""
    return all("lookup" in name or "line_qu8" in name for name in names)


def same(model, threads=1):
    """The model prepared with and without the pass, after both have given the same codes."""
    one, two = (nnfast.Device(threads, without_passes=left).prepare(model) for left in ((), (NAME,)))
    info, rng = one.inputs[0], np.random.default_rng(5)
    low = np.iinfo(info.dtype).min
    for x in (rng.integers(low, low + 256, info.shape), low + np.arange(np.prod(info.shape)).reshape(info.shape) % 256):
        inputs = [x.astype(info.dtype)] + [x.astype(info.dtype)[..., ::-1].copy()] * (len(one.inputs) - 1)
        for a, b in zip(one.run(inputs), two.run(inputs), strict=True):
            assert a.tobytes() == b.tobytes() and len(np.unique(b)) > 4
    return one, two


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", ONE, ids=lambda make: make.__name__)
def test_one_look_up_and_the_same_codes(make, kind, threads):
    one, two = same(built(make, kind), threads)
    assert NAME in one.explain().passes and NAME not in two.explain().passes
    assert len(kernels(one)) == 1 and are_look_ups(kernels(one))


def test_codes_of_both_arithmetics():
    """Of -6, the logistic of which is 0.63 / 256: a step of the output with LiteRT's arithmetic, none with NNAPI's."""
    n = Net("int8", scale=2.0)
    n.pair("MUL", n.x, n.gate(n.x), scale=0.02, seen=True)
    standard = n.b.build()
    for model, wanted in ((standard, -29), (replace(standard, arithmetic="litert"), -30)):
        one, _ = same(model)
        assert NAME in one.explain().passes and len(kernels(one)) == 1 and are_look_ups(kernels(one))
        assert np.unique(one.run([np.full(SHAPE, -14, np.int8)])[0]) == [wanted]


def test_a_look_up_that_is_seen_stays():
    def make(n):
        n.pair("MUL", n.x, n.gate(n.x, seen=True), seen=True)

    one, _ = same(built(make, "int8"))
    assert len(kernels(one)) == 2 and are_look_ups(kernels(one))


def test_a_look_up_that_others_read_stays():
    def make(n):
        gate = n.gate(n.x)
        n.pair("MUL", n.x, gate, seen=True)
        n.put("TANH", gate, scale=1 / 128, zero_point=128, seen=True)

    one, _ = same(built(make, "uint8"))
    assert len(kernels(one)) == 3 and are_look_ups(kernels(one))


def other_factor(n):
    n.pair("MUL", n.b.input(n.kind, n.shape, **n.quant(0.05, 117)), n.gate(n.x), seen=True)


def gate_of_channels(n):
    """A factor for each channel, as of a squeeze and excitation."""
    shape, n.shape = n.shape, (1, 1, 1, 10)
    gate = n.gate(n.b.input(n.kind, n.shape, **n.quant(0.05, 117)))
    n.shape = shape
    n.pair("MUL", n.x, gate, seen=True)


@pytest.mark.parametrize("make", [other_factor, gate_of_channels], ids=lambda make: make.__name__)
def test_a_product_of_different_tensors_stays(make):
    n = Net("int8")
    make(n)
    prepared = nnfast.Device(1).prepare(n.b.build())
    assert NAME not in prepared.explain().passes and "mul" in " ".join(kernels(prepared))


def test_beside_an_operation_in_numpy():
    n = Net("int8")
    swish(n)
    n.b.operation("RANK", [n.x], [n.b.output("INT32")])
    explained = nnfast.Device(1).prepare(n.b.build()).explain()
    assert NAME in explained.passes and [row["operation"] for row in explained.rows if row["reason"]] == ["RANK"]


def test_few_codes_stay():
    one, _ = (nnfast.Device(1).prepare(built(swish, "int8", shape=(1, 30))) for _ in range(2))
    assert NAME not in one.explain().passes


def test_a_compiled_model_keeps_it(tmp_path):
    model, device = built(several, "int8"), nnfast.Device(1)
    first, again = (device.prepare(model, cache_dir=tmp_path) for _ in range(2))
    assert len(list(tmp_path.iterdir())) == 2 and str(again.explain()) == str(first.explain())
    x = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)
    assert first.run([x])[0].tobytes() == again.run([x])[0].tobytes()
