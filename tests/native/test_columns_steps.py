"""Convolutions of images one pixel wide: sounds and other sequences, which run by the kernels of rows."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make, run_native
from helpers.nodes import T, flag, floats, ints, operand, out
from nnfast.ops import tfl_hybrid, tfl_int16

RANDOM = np.random.default_rng(17)
PIXELS, CHANNELS, UNITS, TAPS = 37, 12, 24, 5


def codes(*shape):
    return RANDOM.integers(-127, 128, shape).astype(np.int8)


def per_channel(shape, dim):
    return operand("PC", codes(*shape), scales=np.linspace(0.004, 0.02, shape[dim], dtype=np.float32), dim=dim)


def plain(name, kind, shape, more):
    """Of NNAPI's convolutions; more: scalars behind the strides of width and height."""
    dim = 3 if name == "DEPTHWISE_CONV_2D" else 0
    if kind == "float32":
        return name, [floats(RANDOM.normal(0, 1, shape)), floats(RANDOM.normal(0, 1, shape[dim]))], more, out()
    bias = operand(T.TENSOR_INT32, RANDOM.integers(-999, 999, shape[dim]))
    return name, [per_channel(shape, dim), bias], more, out("Q8S", 0.3, 5)


def filters(units, channels, is_row):
    return units, *((1, TAPS) if is_row else (TAPS, 1)), channels


def case(op, kind, is_row):
    """(operation, filter and bias, scalars behind the strides, output) of images that are one row, or one column."""
    conv, deep = filters(UNITS, CHANNELS, is_row), filters(1, CHANNELS, is_row)
    dilation = [flag(False), *ints(1, 1)]
    if op == "hybrid":
        return tfl_hybrid.TFL_HYBRID_CONV_2D, [per_channel(conv, 0), floats(RANDOM.normal(0, 1, UNITS))], \
            [*ints(1), *dilation], out()
    if op == "hybrid depthwise":
        return tfl_hybrid.TFL_HYBRID_DEPTHWISE_CONV_2D, [per_channel(deep, 3), floats(RANDOM.normal(0, 1, CHANNELS))], \
            [*ints(1), *dilation], out()
    if op == "int16":
        return tfl_int16.TFL_INT16_CONV_2D, [per_channel(conv, 0), operand("I64", RANDOM.integers(-999, 999, UNITS))], \
            [*ints(1), *dilation], out("Q16S", 3e-3)
    if op == "int16 depthwise":
        return tfl_int16.TFL_INT16_DEPTHWISE_CONV_2D, \
            [per_channel(deep, 3), operand("I64", RANDOM.integers(-999, 999, CHANNELS))], \
            [*ints(1), *dilation], out("Q16S", 3e-3)
    if op == "grouped":
        return plain("GROUPED_CONV_2D", kind, filters(UNITS, CHANNELS // 3, is_row), [*ints(3, 1), flag(False)])
    if op == "depthwise":
        return plain("DEPTHWISE_CONV_2D", kind, deep, [*ints(1, 1), *dilation])
    return plain("CONV_2D", kind, conv, [*ints(1), *dilation])


def source(op, kind, shape):
    """(operand, values) of the input."""
    if op.startswith("int16"):
        values = RANDOM.integers(-32767, 32768, shape).astype(np.int16)
        return operand("Q16S", values, 1e-4), values
    if op.startswith("hybrid") or kind == "float32":
        values = RANDOM.normal(0, 1, shape).astype(np.float32)
        return floats(values), values
    values = codes(*shape)
    return operand("Q8S", values, 0.05, 3), values


def windows_of(step):
    """What a step was made with that is the geometry of a window."""
    return [argument for argument in step.made_with[0] if hasattr(argument, "dilation")]


CASES = [(op, kind) for op in ("conv", "grouped", "depthwise") for kind in ("float32", "int8")] + [
    (op, None) for op in ("hybrid", "hybrid depthwise", "int16", "int16 depthwise")]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("scheme", [1, 2], ids=["same", "valid"])
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("op", "kind"), CASES)
def test_a_column_is_as_defined_and_runs_as_a_row(op, kind, batch, scheme, stride):
    found = []
    for is_row in (False, True):
        image, values = source(op, kind, (batch, *((1, PIXELS) if is_row else (PIXELS, 1)), CHANNELS))
        name, weights, more, target = case(op, kind, is_row)
        made = make(name, [image, *weights, *ints(scheme, stride, stride), *more], target)
        check_all_ways(made, [values], atol=1e-5 if kind == "float32" else 0)
        found.append([(step.kernel, *windows_of(step)) for step in run_native(made, values)[1]])
    assert found[0] == found[1]
