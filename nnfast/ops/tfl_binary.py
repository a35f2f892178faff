"""TFLite's elementwise operations on two inputs, for numbers of any type and rank, broadcast as numpy does."""

from math import inf, prod

import numpy as np

from .._native.elementwise import (
    INTEGER_TYPES,
    SELECTED,
    BinaryBytes,
    BinaryF32,
    Compare,
    Select,
    TflBinary,
    obstacle,
)
from .._native.movement import IndexedCopy
from .base import broadcast_shape
from .movement import MOST_DIMENSIONS
from .tfl import BOOLS, BOUNDS, COMPLEX, FLOATS, INTEGERS, NUMBERS, QUANTIZED, is_boolean, own, same_dtype


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


def _shift_left(node, x, y):
    """As shifts of 32 bits on the processors that LiteRT runs on, which count places modulo 32."""
    return np.left_shift(x.astype(np.int32), y & 31)


_FORMULAS = {
    "ADD": lambda node, x, y: x + y, "SUB": lambda node, x, y: x - y, "MUL": lambda node, x, y: x * y, "DIV": _divide,
    "STABLEHLO_ADD": lambda node, x, y: x + y, "STABLEHLO_MULTIPLY": lambda node, x, y: x * y,
    "STABLEHLO_AND": lambda node, x, y: x & y, "STABLEHLO_SHIFT_LEFT": _shift_left,
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


# -- native ----------------------------------------------------------------------------------------------------------
_RELATIONS = {"EQUAL": ("equal", False), "NOT_EQUAL": ("not_equal", False), "LESS": ("less", False),
              "LESS_EQUAL": ("less_equal", False), "GREATER": ("less", True), "GREATER_EQUAL": ("less_equal", True)}
"""Kernel's relation, and whether the operands change places."""
_OF_BOTH = {"ADD": "add", "SUB": "sub", "MUL": "mul", "STABLEHLO_ADD": "add", "STABLEHLO_MULTIPLY": "mul",
            "MAXIMUM": "max", "MINIMUM": "min", "POW": "pow"}
_OF_FLOATS = {**_OF_BOTH, "DIV": "div", "SQUARED_DIFFERENCE": "squared_difference"}
_OF_FLOATS_SLOW = {"ATAN2": "atan2", "FLOOR_DIV": "floor_div", "FLOOR_MOD": "floor_mod"}
_OF_INTEGERS = {**_OF_BOTH, "DIV": "quotient", "FLOOR_DIV": "floor_div", "FLOOR_MOD": "floor_mod",
                "RIGHT_SHIFT": "shift", "BITWISE_XOR": "xor"}
_OF_BYTES = {"LOGICAL_AND": ("and", "b8"), "LOGICAL_OR": ("or", "b8"), "MAXIMUM": ("max", "qu8"),
             "MINIMUM": ("min", "qu8")}
_DECLINING = ("quotient", "floor_div", "floor_mod", "pow")
"""Operations of integers that do not take every second operand."""


def lower(node, b):
    """One step for float32 and booleans; up to three for signed integers and uint8."""
    x, y, output, name = node["x"], node["y"], node.outputs[0], node.op.name.removeprefix("TFL_")
    reason = obstacle(x.shape, y.shape)
    if reason is not None:
        return reason
    relation, swapped = _RELATIONS.get(name, (None, name in ("MAXIMUM", "MINIMUM")))
    # Where one of two is a NaN, the kernels' larger one is the first, TFLite's the second.
    first, second = (y, x) if swapped else (x, y)
    slots, shapes = (b.slot(first), b.slot(second), b.slot(output)), (first.shape, second.shape)
    if x.dtype == np.float32:
        low, high = (sign * inf if bound is None else bound
                     for sign, bound in zip((-1, 1), BOUNDS[node.scalar("activation", 0)]))
        if relation is not None:
            b.emit(Compare(slots, relation, "f32", *shapes))
        elif name in _OF_FLOATS:
            b.emit(BinaryF32(slots, _OF_FLOATS[name], *shapes, low, high))
        else:
            b.emit(TflBinary(slots, _OF_FLOATS_SLOW[name], "float32", *shapes))
    elif is_boolean(x.type):
        b.emit(BinaryBytes(slots, *_OF_BYTES.get(name, (relation, "b8")), *shapes))
    elif x.dtype.name in INTEGER_TYPES:
        return _lower_integers(node, b, name, relation, slots, shapes)
    else:
        return f"no native kernel for {x.dtype}"
    return None


def _lower_integers(node, b, name, relation, slots, shapes):
    output, dtype = node.outputs[0], node["x"].dtype
    whole, op = (prod(output.shape),), relation or _OF_INTEGERS.get(name, "sub")
    bounds = [(op, bound) for op, bound in zip(("max", "min"), BOUNDS[node.scalar("activation", 0)])
              if bound is not None]
    if op in _DECLINING and bounds:
        return f"no native kernel for {name} of {dtype} with an activation"
    steps = len(bounds) + (name == "SQUARED_DIFFERENCE")
    targets = [b.temp(prod(whole) * dtype.itemsize) for _ in range(steps)] + [slots[2]]
    b.emit(TflBinary((*slots[:2], targets[0]), op, dtype.name, *shapes), declines=op in _DECLINING)
    if name == "SQUARED_DIFFERENCE":
        b.emit(TflBinary((targets[0], targets[0], targets[1]), "mul", dtype.name, whole, whole))
    for place, (op, bound) in enumerate(bounds):
        limit = b.const(np.full(1, max(bound, np.iinfo(dtype).min), dtype))
        b.emit(TflBinary((targets[place], limit, targets[place + 1]), op, dtype.name, whole, (1,)))
    return None


# -- references -----------------------------------------------------------------------------------------------------
def _check_activation(node):
    same_dtype("x", "y")(node)
    node.check_in("activation", tuple(BOUNDS))


def _fused(name, types=NUMBERS):
    return own(f"TFL_{name}", {"x:T y:U activation:i32 -> output:V": dict.fromkeys("TUV", types)}, compute, infer,
               _check_activation, lower=lower)


def _plain(name, types, lower=lower):
    return own(f"TFL_{name}", {"x:T y:U -> output:V": dict.fromkeys("TUV", types)}, compute, infer,
               same_dtype("x", "y"), lower=lower)


def _check_inputs(node):
    if node["x"].dtype != node["y"].dtype:
        node.fail("y", f"is of {node['y'].dtype}, must be of {node['x'].dtype} as the other")


def _comparison(name, types):
    return own(f"TFL_{name}", {"x:T y:U -> output:V": {"T": types, "U": types, "V": BOOLS}}, compute, infer,
               _check_inputs, lower=lower)


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
TFL_STABLEHLO_AND = _plain("STABLEHLO_AND", INTEGERS + QUANTIZED, None)
TFL_STABLEHLO_SHIFT_LEFT = _plain("STABLEHLO_SHIFT_LEFT", ("I32", "I16", "I8", "i32", "i16", "i8", *QUANTIZED), None)
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


def lower_select(node, b):
    """One step for items of up to 8 bytes, behind a copy by indices of what is broadcast."""
    output, condition = node.outputs[0], node["condition"]
    rank, item = len(output.shape), output.dtype.itemsize
    if item not in SELECTED:
        return f"no native kernel for {output.dtype}"
    if rank > MOST_DIMENSIONS:
        return f"rank is {rank}, native up to {MOST_DIMENSIONS}"
    slots = []
    for tensor in (condition, node["x"], node["y"]):
        shape = tensor.shape
        if tensor is condition and node.scalar("is_rows") and len(shape) == 1:
            shape = (*shape, *[1] * (rank - 1))
        slots.append(b.slot(tensor))
        if shape != output.shape:
            slots[-1] = b.temp(prod(output.shape) * tensor.dtype.itemsize)
            b.emit(IndexedCopy((b.slot(tensor), slots[-1]), (1,) * (rank - len(shape)) + shape, output.shape,
                               tensor.dtype.itemsize))
    b.emit(Select((*slots, b.slot(output)), prod(output.shape), item))
    return None


def _select(name):
    types = ("F32", "F16", "Q8", "Q8S", "Q16S", *BOOLS, *INTEGERS, "F64", "f32", "f16", "f64", "C64")
    return own(name, {"condition:C x:T y:U is_rows:bool -> output:V": {"C": BOOLS} | dict.fromkeys("TUV", types)},
               compute_select, infer_select, same_dtype("x", "y"), lower=lower_select)


TFL_SELECT, TFL_SELECT_V2 = map(_select, ("TFL_SELECT", "TFL_SELECT_V2"))
