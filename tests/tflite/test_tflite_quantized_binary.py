"""DIV, SQUARED_DIFFERENCE, comparisons and NEG of quantized tensors, against real formulas."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.running import One

RANDOM = np.random.default_rng(14)


def codes(kind, *shape):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return RANDOM.integers(low, high + 1, shape).astype(kind)


def quants(kind, scales):
    zeros = (0, 0, 0) if kind == "int16" else (7, 3, 9)
    return zeros, dict(zip(("i0", "i1", "o0"), zip(scales, zeros)))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("shape", [(4, 50), (1, 50)])
def test_div(kind, shape):
    scales = (0.03, 0.05, 0.01 if kind != "int16" else 0.0005)
    zeros, table = quants(kind, scales)
    x, y = codes(kind, 4, 50), codes(kind, *shape)
    # Quotients that are not much smaller than a step.
    x = np.where(np.abs(x.astype(int) - zeros[0]) < 20, zeros[0] + 20, x).astype(kind)
    y = np.where(np.abs(y.astype(int) - zeros[1]) < 2, zeros[1] + 2, y).astype(kind)
    one = One("DIV", [x, y], [((4, 50), kind)], "DivOptions", quants=table)
    real = (x.astype(int) - zeros[0]) * 0.03 / ((y.astype(int) - zeros[1]) * 0.05) / scales[2] + zeros[2]
    assert np.abs(one.run()[0] - np.clip(real, np.iinfo(kind).min, np.iinfo(kind).max)).max() <= 1


def test_div_takes_no_zeros():
    one = One("DIV", [np.int8([[5]]), np.int8([[3]])], [((1, 1), "int8")], "DivOptions",
              quants={"i0": (0.1, 0), "i1": (0.1, 3), "o0": (0.1, 0)})
    with pytest.raises(nnfast.Error, match="holds zeros"):
        one.run()


def test_squared_difference():
    x, y = codes("int8", 4, 50), codes("int8", 1, 50)
    one = One("SQUARED_DIFFERENCE", [x, y], [((4, 50), "int8")],
              quants={"i0": (0.03, 7), "i1": (0.05, 3), "o0": (0.4, -120)})
    real = ((x.astype(int) - 7) * 0.03 - (y.astype(int) - 3) * 0.05) ** 2 / 0.4 - 120
    assert np.abs(one.run()[0] - np.clip(real, -128, 127)).max() <= 1


@pytest.mark.parametrize(("name", "function"), [
    ("EQUAL", np.equal), ("NOT_EQUAL", np.not_equal), ("LESS", np.less), ("LESS_EQUAL", np.less_equal),
    ("GREATER", np.greater), ("GREATER_EQUAL", np.greater_equal)])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_comparisons_of_two_quantizations(kind, name, function):
    x, y = codes(kind, 4, 50), codes(kind, 1, 50)
    one = One(name, [x, y], [((4, 50), "bool")], quants={"i0": (0.5, 7), "i1": (0.25, 3)})
    wanted = function((x.astype(int) - 7) * 0.5, (y.astype(int) - 3) * 0.25)
    np.testing.assert_array_equal(one.run()[0].astype(bool), wanted)


@pytest.mark.parametrize(("name", "function"), [("EQUAL", np.equal), ("NOT_EQUAL", np.not_equal)])
def test_equality_of_int16(name, function):
    x, y = codes("int16", 300) // 3000, codes("int16", 300) // 3000
    one = One(name, [x, y], [((300,), "bool")], quants={"i0": (0.5, 0), "i1": (0.25, 0)})
    np.testing.assert_array_equal(one.run()[0].astype(bool), function(x * 0.5, y * 0.25))


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_neg_turns_codes_round(kind):
    x, zero = codes(kind, 300), 7 if kind == "int8" else 0
    one = One("NEG", [x], [((300,), kind)], quants={"i0": (0.5, zero), "o0": (0.5, zero)})
    np.testing.assert_array_equal(one.run()[0], -x)
