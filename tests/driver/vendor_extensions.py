"""Vendor extensions for the tests: amounts of money, and one whose functions make mistakes."""

import numpy as np

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
MONEY = Extension("com.example.money", [FACTOR, AMOUNTS, COLOURS], [TIMES, POSITIVE, UNITS, TOTAL, SAME])

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


def unit(value):
    """Parameters of AMOUNTS."""
    return AMOUNTS.pack(unit=value)
