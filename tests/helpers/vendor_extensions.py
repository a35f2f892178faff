"""Vendor extensions for the tests: amounts of money, one whose functions make mistakes, and models with them."""

import numpy as np
import pytest

from nnfast import ModelBuilder
from nnfast.errors import InvalidArgument
from nnfast.extensions import Extension, Operation, Type


def _check_unit(parameters):
    if parameters["unit"] <= 0:
        raise ValueError(f"unit is {parameters['unit']}, must be positive")


FACTOR = Type("FACTOR", 3, np.int64, is_tensor=False)
AMOUNTS = Type("AMOUNTS", 5, np.int64, parameters=[("unit", np.int32)], check=_check_unit)
COLOURS = Type("COLOURS", 0xFFFF, "V3")

TIMES = Operation("TIMES", 2, "x:X factor:F -> y:X", {"X": [AMOUNTS, "TENSOR_FLOAT32"], "F": [FACTOR]},
                  infer=lambda node: [node["x"].shape],
                  run=lambda node, inputs: [inputs[0] * inputs[1].astype(inputs[0].dtype)])
POSITIVE = Operation("POSITIVE", 7, "x:X -> y:X", {"X": [AMOUNTS]}, data_dependent=True,
                     run=lambda node, inputs: [inputs[0][inputs[0] > 0]])
UNITS = Operation("UNITS", 8, "x:X -> unit:i32", {"X": [AMOUNTS]}, infer=lambda node: [()],
                  run=lambda node, inputs: [node["x"].parameters["unit"]])
TOTAL = Operation("TOTAL", 0xFFFF, "x*:X bias?:I32 -> y:X", {"X": [AMOUNTS]},
                  infer=lambda node: [node.group("x")[0].shape],
                  run=lambda node, inputs: [sum(array for array in inputs if array is not None)])
SAME = Operation("SAME", 1, "x:X -> y:X", {"X": [COLOURS, AMOUNTS]}, infer=lambda node: [node["x"].shape],
                 run=lambda node, inputs: [inputs[0]])
NAME = "com.example.money"
MONEY = Extension(NAME, [FACTOR, AMOUNTS, COLOURS], [TIMES, POSITIVE, UNITS, TOTAL, SAME])

MISTAKES = {
    "raises": lambda x: [x + {}],
    "dtype": lambda x: [x.astype(np.float64)],
    "shape": lambda x: [x[1:]],
    "count": lambda x: [x, x],
    "none": lambda x: None,
    "list": lambda x: [x.tolist()],
    "writes": lambda x: [x.fill(0)],
    "alias": lambda x: [x],
}


def mistaken(name):
    """An extension whose operation FAIL, x -> y of float32, makes one of MISTAKES; the shape is that of x."""
    fail = Operation("FAIL", 0, "x:F32 -> y:F32", {}, infer=lambda node: [node["x"].shape],
                     run=lambda node, inputs: MISTAKES[name](inputs[0]))
    return Extension("com.example.mistakes", operations=[fail])

X = np.array([3, -4, 5], np.int64)


def unit(value):
    """Parameters of AMOUNTS."""
    return AMOUNTS.pack(unit=value)


def types(**changes):
    return Type(**{"name": "A", "id": 0, "dtype": np.int8} | changes)


def operation(**changes):
    arguments = {"name": "OP", "id": 0, "signature": "x:X -> y:X", "types": {"X": ["TENSOR_FLOAT32"]},
                 "run": lambda node, inputs: inputs, "infer": lambda node: [()]}
    return Operation(**arguments | changes)


def times_model(factor=None, dims=(3,), out=(3,), parameters=None):
    """y = x * factor in amounts; factor None: an input."""
    b = ModelBuilder("times")
    parameters = unit(100) if parameters is None else parameters
    x = b.input(AMOUNTS, dims, name="x", parameters=parameters)
    f = b.input(FACTOR, name="factor") if factor is None else b.scalar(factor, FACTOR)
    y = b.output(AMOUNTS, out, name="y", parameters=parameters)
    return b.operation(TIMES, [x, f], [y]).build()


def one(operation, kind, out, dims=(3,), out_dims=(3,), parameters=None, out_parameters=None):
    """y = operation(x)."""
    b = ModelBuilder()
    x = b.input(kind, dims, parameters=parameters)
    return b.operation(operation, [x], [b.output(out, out_dims, parameters=out_parameters)]).build()


def refused(device, model):
    """The reason why an invalid model is refused, by query and preparation alike."""
    reasons = set()
    for call in (device.supported_operations, device.prepare):
        with pytest.raises(InvalidArgument) as caught:
            call(model)
        reasons.add(str(caught.value))
    assert len(reasons) == 1
    return reasons.pop()
