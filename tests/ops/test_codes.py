"""Two operands of 8 bits, one of which is one known code: looked up by the other."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.running import Const, One

RANDOM = np.random.default_rng(8)
ARITHMETIC = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "PRELU": None,
              "SQUARED_DIFFERENCE": "SquaredDifferenceOptions"}
RELATIONS = {"LESS": "LessOptions", "GREATER_EQUAL": "GreaterEqualOptions", "EQUAL": "EqualOptions"}


def codes(dtype, *shape):
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def model(kind, inputs, shape, dtype):
    quants = {"i0": (0.0513, 3), "i1": (0.0213, 5), "o0": (0.0797, 7)}
    output = (shape, "bool" if kind in RELATIONS else dtype)
    return nnfast.load(One(kind, inputs, [output], (ARITHMETIC | RELATIONS)[kind], {}, quants).file())


def kernels(prepared):
    return [row["kernel"] for row in prepared.explain().rows]


KINDS = [(kind, dtype) for kind in (*ARITHMETIC, *RELATIONS) for dtype in ("int8", "uint8")]
KINDS.remove(("SQUARED_DIFFERENCE", "uint8"))  # which TFLite lacks


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
@pytest.mark.parametrize("place", [0, 1])
def test_one_known_code(kind, dtype, place):
    many, device = codes(dtype, 3, 40, 41), nnfast.Device()
    for shape in ((1,), (1, 1, 1)):
        known = codes(dtype, *shape)
        inputs = [Const(known), many] if place == 0 else [many, Const(known)]
        prepared = device.prepare(model(kind, inputs, many.shape, dtype))
        plain = nnfast.Device(without_passes=["native_kernels"]).prepare(model(kind, inputs, many.shape, dtype))
        assert all("lookup_qu8" in name or "line_qu8" in name for name in kernels(prepared)), kernels(prepared)
        np.testing.assert_array_equal(prepared.run([many]), plain.run([many]))


def test_few_codes_are_not_looked_up():
    x = codes("int8", 64)
    prepared = nnfast.Device().prepare(model("ADD", [x, Const(codes("int8", 1))], (64,), "int8"))
    assert "lookup" not in kernels(prepared)[0]


def test_a_known_divisor_of_zero_is_refused():
    x = codes("int8", 100, 100)
    quants = {"i0": (0.0513, 3), "i1": (0.0213, 5), "o0": (0.0797, 7)}
    one = One("DIV", [x, Const(np.int8([5]))], [(x.shape, "int8")], "DivOptions", {}, quants)
    prepared = nnfast.Device().prepare(nnfast.load(one.file()))
    with pytest.raises(nnfast.errors.Error, match="holds zeros, must have none"):
        prepared.run([x])
