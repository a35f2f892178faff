"""Scales at the ends of float32: their ratios leave its range, and each such file is refused in one line, or runs."""

import warnings
from itertools import product

import numpy as np
import pytest

import nnfast
from helpers.tflite.running import Const, One
from nnfast.errors import Error, InvalidArgument

ENDS = [float(np.float32(scale)) for scale in (1.4e-45, 1e-38, 0.5, 3.4e38)]
AXIS = Const(np.int32([1]))


def one(kind, dtype, shapes, options=None, fields=None, target=None, more=()):
    """An operator of codes 1, whose tensors are called i0, i1 ... and o0."""
    inputs = [np.ones(shape, dtype) for shape in shapes]
    return One(kind, [*inputs, *more], [(shapes[0], target or dtype)], options, fields)


def run(operator):
    """Outputs, of a device that refuses what it does not support."""
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(operator.file()))
    return prepared.run([value for value in operator.inputs if isinstance(value, np.ndarray)])


SINGLE, PAIR = ((2, 3),), ((2, 3), (2, 3))
BINARY = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}
FIXED = {("LOGISTIC", "int8"): (1 / 256, -128), ("SOFTMAX", "int8"): (1 / 256, -128), ("TANH", "int8"): (1 / 128, 0),
         ("LOGISTIC", "int16"): (1 / 32768, 0), ("TANH", "int16"): (1 / 32768, 0), ("SOFTMAX", "int16"): (1 / 32768, 0)}
"""Outputs whose quantization is not the file's to choose."""

ROWS = [
    *((kind, dtype, PAIR, options) for kind, options in BINARY.items() for dtype in ("int8", "uint8", "int16")),
    ("SQUARED_DIFFERENCE", "int8", PAIR, "SquaredDifferenceOptions"),
    *((kind, dtype, SINGLE, options, fields) for dtype in ("int8", "int16") for kind, options, fields in (
        ("RSQRT", None, None), ("LOGISTIC", None, None), ("TANH", None, None), ("ABS", "AbsOptions", None),
        ("RELU", None, None), ("LEAKY_RELU", "LeakyReluOptions", {"Alpha": 0.5}),
        ("SOFTMAX", "SoftmaxOptions", {"Beta": 1.0}))),
    ("HARD_SWISH", "int8", SINGLE), ("QUANTIZE", "int8", SINGLE, "QuantizeOptions"),
    *((kind, dtype, ((2, 1),), "ReducerOptions", {"KeepDims": True}, None, (AXIS,))
      for kind in ("MEAN", "REDUCE_PROD") for dtype in ("int8", "int16")),
    *(("BATCH_MATMUL", dtype, ((2, 2), (2, 2)), "BatchMatMulOptions") for dtype in ("int8", "int16")),
    *(("LESS", dtype, PAIR, "LessOptions", None, "bool") for dtype in ("int8", "uint8")),
    *(("CONCATENATION", dtype, SINGLE, "ConcatenationOptions", {"Axis": 1}) for dtype in ("int8", "uint8")),
    ("PRELU", "int8", PAIR),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_each_combination_runs_or_is_refused(row):
    operator, fixed, refused = one(*row), FIXED.get(row[:2]), 0
    names = [f"i{k}" for k, value in enumerate(operator.inputs) if not isinstance(value, Const)]
    if not fixed and operator.outputs[0][1] != "bool":
        names.append("o0")
    for scales in product(ENDS, repeat=len(names)):
        operator.quants = {name: (scale, 0) for name, scale in zip(names, scales)}
        if fixed:
            operator.quants["o0"] = fixed
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                run(operator)
            except Error as error:
                refused += 1
                assert "\n" not in str(error)
    assert refused < len(ENDS)**len(names)


def test_a_root_whose_scale_vanishes():
    operator = one("RSQRT", "int8", ((2, 3),))
    operator.quants = {"i0": (1e-40, 0), "o0": (1e-38, 0)}
    with pytest.raises(InvalidArgument, match=r"operation\[0\] .*give a multiplier of inf, must be finite"):
        run(operator)


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_a_sigmoid_beyond_its_table(kind):
    operator = one(kind, "int16", ((2, 3),))
    operator.quants = {"i0": (174762.68, 0), "o0": (2.0**-15, 0)}
    with pytest.raises(InvalidArgument, match=r"input 0 .*scale 174762.6\d+, must be below .* = 174762.667"):
        run(operator)
    operator.quants["i0"] = 174762.65, 0
    assert run(operator)[0].max() == 32767
