"""TFLite's elementwise operations on two inputs, for numbers of any type and rank, broadcast as numpy does."""

import numpy as np

from .base import broadcast_shape
from .tfl import BOOLS, BOUNDS, COMPLEX, FLOATS, INTEGERS, NUMBERS, QUANTIZED, own, same_dtype


def infer(node):
    """The common shape."""
    return [broadcast_shape(node, "x", "y")]


# -- arithmetic ------------------------------------------------------------------------------------------------------
def _divide(node, x, y):
    if x.dtype.kind == "f":
        return x / y
    _not_zero(node, y)
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient < 0) & (quotient * y != x))


def _floor_divide(node, x, y):
    _not_zero(node, y)
    return np.floor(x.astype(np.float64) / y) if x.dtype.kind == "f" else np.floor_divide(x, y)


def _floor_mod(node, x, y):
    _not_zero(node, y)
    return np.mod(x, y)


def _not_zero(node, y):
    if y.dtype.kind != "f" and not y.all():
        node.fail_run("y", "has a 0, integers cannot be divided by it")


def _power(node, x, y):
    if x.dtype.kind != "f":
        if (y < 0).any():
            node.fail_run("y", "has a negative exponent of an integer")
        return np.power(x, y)
    return np.power(x.astype(np.float64), y)


def _shift(node, x, y):
    return np.right_shift(x, np.clip(y, 0, 8 * x.dtype.itemsize - 1))


_FORMULAS = {
    "ADD": lambda node, x, y: x + y, "SUB": lambda node, x, y: x - y, "MUL": lambda node, x, y: x * y, "DIV": _divide,
    "STABLEHLO_ADD": lambda node, x, y: x + y, "STABLEHLO_MULTIPLY": lambda node, x, y: x * y,
    "FLOOR_DIV": _floor_divide, "FLOOR_MOD": _floor_mod, "POW": _power,
    "MAXIMUM": lambda node, x, y: np.where(x > y, x, y), "MINIMUM": lambda node, x, y: np.where(x < y, x, y),
    "SQUARED_DIFFERENCE": lambda node, x, y: np.square(x - y),
    "ATAN2": lambda node, x, y: np.arctan2(x.astype(np.float64), y), "RIGHT_SHIFT": _shift,
    "BITWISE_XOR": lambda node, x, y: x ^ y, "LOGICAL_AND": lambda node, x, y: (x != 0) & (y != 0),
    "LOGICAL_OR": lambda node, x, y: (x != 0) | (y != 0), "EQUAL": lambda node, x, y: x == y,
    "NOT_EQUAL": lambda node, x, y: x != y, "LESS": lambda node, x, y: x < y,
    "LESS_EQUAL": lambda node, x, y: x <= y, "GREATER": lambda node, x, y: x > y,
    "GREATER_EQUAL": lambda node, x, y: x >= y,
}


def compute(node, inputs):
    """The formula, in the inputs' type where it says nothing else, then the fused activation."""
    result = _FORMULAS[node.op.name.removeprefix("TFL_")](node, *inputs[:2])
    low, high = BOUNDS[node.scalar("activation", 0)]
    if low is not None or high is not None:
        result = np.clip(result, low, high)
    return [np.asarray(result).astype(node.outputs[0].dtype)]


# -- references -----------------------------------------------------------------------------------------------------
def _check_activation(node):
    same_dtype("x", "y")(node)
    node.check_in("activation", tuple(BOUNDS))


def _fused(name, types=NUMBERS):
    return own(f"TFL_{name}", {"x:T y:U activation:i32 -> output:V": dict.fromkeys("TUV", types)}, compute, infer,
               _check_activation)


def _plain(name, types):
    return own(f"TFL_{name}", {"x:T y:U -> output:V": dict.fromkeys("TUV", types)}, compute, infer,
               same_dtype("x", "y"))


def _check_inputs(node):
    if node["x"].dtype != node["y"].dtype:
        node.fail("y", f"is of {node['y'].dtype}, must be of {node['x'].dtype} as the other")


def _comparison(name, types):
    return own(f"TFL_{name}", {"x:T y:U -> output:V": {"T": types, "U": types, "V": BOOLS}}, compute, infer,
               _check_inputs)


TFL_ADD, TFL_SUB, TFL_DIV = map(_fused, ("ADD", "SUB", "DIV"))
TFL_MUL = _fused("MUL", NUMBERS + COMPLEX)
TFL_FLOOR_DIV, TFL_FLOOR_MOD = (_plain(name, NUMBERS + QUANTIZED) for name in ("FLOOR_DIV", "FLOOR_MOD"))
TFL_POW, TFL_SQUARED_DIFFERENCE = (_plain(name, NUMBERS) for name in ("POW", "SQUARED_DIFFERENCE"))
TFL_MAXIMUM, TFL_MINIMUM = (_plain(name, NUMBERS + QUANTIZED + BOOLS) for name in ("MAXIMUM", "MINIMUM"))
TFL_ATAN2 = _plain("ATAN2", FLOATS)
# Of quantized tensors LiteRT takes the codes.
TFL_RIGHT_SHIFT, TFL_BITWISE_XOR = (_plain(name, INTEGERS + QUANTIZED) for name in ("RIGHT_SHIFT", "BITWISE_XOR"))
TFL_STABLEHLO_ADD, TFL_STABLEHLO_MULTIPLY = (_plain(f"STABLEHLO_{name}", NUMBERS + QUANTIZED)
                                             for name in ("ADD", "MULTIPLY"))
TFL_LOGICAL_AND, TFL_LOGICAL_OR = _plain("LOGICAL_AND", BOOLS), _plain("LOGICAL_OR", BOOLS)
TFL_EQUAL, TFL_NOT_EQUAL = (_comparison(name, NUMBERS + BOOLS) for name in ("EQUAL", "NOT_EQUAL"))
TFL_LESS, TFL_LESS_EQUAL, TFL_GREATER, TFL_GREATER_EQUAL = (
    _comparison(name, NUMBERS + ("Q16S",)) for name in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"))


# -- choices ---------------------------------------------------------------------------------------------------------
def infer_select(node):
    """The common shape of all three; a condition of rank 1 may choose rows where `is_rows` says so."""
    shapes = [node[name].shape for name in ("condition", "x", "y")]
    if node.scalar("is_rows") and len(shapes[0]) == 1 and len(shapes[1]) > 1:
        shapes[0] = (*shapes[0], *[1] * (len(shapes[1]) - 1))
    try:
        return [np.broadcast_shapes(*shapes)]
    except (ValueError, RuntimeError):  # of more dimensions than numpy has
        node.fail("condition", f"shape {list(shapes[0])} does not go with {list(shapes[1])} and {list(shapes[2])}")


def compute_select(node, inputs):
    """x where the condition holds, else y."""
    condition, x, y = inputs[:3]
    if node.scalar("is_rows") and condition.ndim == 1 and x.ndim > 1:
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return [np.where(condition, x, y)]


def _select(name):
    types = ("F32", "F16", "Q8", "Q8S", "Q16S", *BOOLS, *INTEGERS, "F64", "f32", "f16", "f64", "C64")
    return own(name, {"condition:C x:T y:U is_rows:bool -> output:V": {"C": BOOLS} | dict.fromkeys("TUV", types)},
               compute_select, infer_select, same_dtype("x", "y"))


TFL_SELECT, TFL_SELECT_V2 = map(_select, ("TFL_SELECT", "TFL_SELECT_V2"))
