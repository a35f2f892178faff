"""CAST."""

import numpy as np
import pytest

from helpers.nodes import node, operand, out, refuses, run, version
from helpers.vectors import check_vectors
from nnfast.errors import InvalidArgument
from nnfast.ops.cast import CAST

NUMBERS = ("F16", "F32", "I32", "Q8")


def cast(source, values, target):
    return run(CAST, [operand(source, values, 0.5, 3)], out(target, 7.0, 9))


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", NUMBERS)
def test_small_whole_numbers_pass_through_every_pair(source, target):
    assert cast(source, [[0, 1, 2], [3, 100, 255]], target).tolist() == [[0, 1, 2], [3, 100, 255]]


@pytest.mark.parametrize("source", ["F32", "F16"])
def test_to_codes_cuts_and_saturates(source):
    values = [-1e3, -0.9, 0.99, 254.9, 255, 256, np.inf, -np.inf, np.nan]
    if source == "F16":
        values[3] = 254.5
    assert cast(source, values, "Q8").tolist() == [0, 0, 0, 254, 255, 255, 255, 0, 0]
    assert cast("I32", [-(2**31), -1, 256, 2**31 - 1], "Q8").tolist() == [0, 0, 255, 255]


def test_to_int32_cuts_towards_zero_and_stays_in_range():
    values = [-1.9, 1.9, 16777217.0, 2147483520.0, 3e9, -3e9, np.inf, -np.inf, np.nan]
    expected = [-1, 1, 16777216, 2147483520, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0]
    assert cast("F32", values, "I32").tolist() == expected


@pytest.mark.parametrize("source", ["F32", "F16"])
@pytest.mark.parametrize(("target", "low", "high"), [("I32", -(2**31), 2**31 - 1), ("Q8", 0, 255)])
def test_litert_takes_nan_for_the_highest_integer(source, target, low, high):
    source = operand(source, [np.nan, np.inf, -np.inf, 1.9, 60000 if target == "I32" else 256], 0.5, 3)
    made = node(CAST, [source], out(target, 7.0, 9))
    made.arithmetic = "litert"
    assert CAST.compute(made, [source.value])[0].tolist() == [high, high, low, 1, 60000 if target == "I32" else 255]


def test_to_floats_rounds_to_even_and_overflows_to_infinity():
    assert cast("I32", [2**24 + 1, 2**24 + 3, 2**31 - 1], "F32").tolist() == [2**24, 2**24 + 4, 2**31]
    assert cast("F32", [2049, 2051, 65520, -1e30], "F16").tolist() == [2048, 2052, np.inf, -np.inf]
    assert cast("I32", [2049, 65519, 65520], "F16").tolist() == [2048, 65504, np.inf]


@pytest.mark.parametrize(("abbreviation", "values"), [
    ("B8", [0, 1, 2, 255]), ("Q16A", [0, 65535]), ("Q16S", [-32768, 32767]), ("Q8S", [-128, 127]), ("Q8SY", [-128, 5]),
    ("F32", [np.nan, -np.inf, -0.0]), ("Q8", [0, 255]),
])
def test_same_type_copies_bytes(abbreviation, values):
    source = operand(abbreviation, values)
    actual = run(CAST, [source], out(abbreviation))
    assert actual.tobytes() == source.value.tobytes()
    assert not np.shares_memory(actual, source.value)


def test_types_and_versions():
    assert version(CAST, [operand("Q8", [1])], out("F16")) == "1.2"
    assert version(CAST, [operand("Q8S", [1])], out("Q8S")) == "1.3"
    refuses(CAST, [operand("Q8S", [1])], " output 0 (output): type TENSOR_FLOAT32, must be TENSOR_QUANT8_ASYMM_SIGNED",
            out("F32"))


@pytest.mark.parametrize(("shape", "declared", "text"), [
    ((2, 3), (3, 2), "shape is [3, 2], must be the input's, [2, 3]"),
    ((2, None), (2, 3), "shape is [2, 3], must be the input's, [2, ?]"), ((2, 3), (2, None), None),
    (None, (2, 3), None), ((2, None), None, None), ((2, 3), (2, 3), None),
])
def test_declared_shapes_are_compared_at_model_time(shape, declared, text):
    made = node(CAST, [operand("F32", shape=shape)], operand("I32", shape=declared))
    if text is None:
        CAST.validate(made)
        return
    with pytest.raises(InvalidArgument) as caught:
        CAST.validate(made)
    assert str(caught.value) == f"main.operation[3] CAST output 0: {text}"


def test_vectors():
    check_vectors("CAST")
