"""TFLite's reductions, for numbers of any type and rank: SUM, MEAN, REDUCE_..., ARG_MAX, CUMSUM."""

from math import prod

import numpy as np

from .._native.elementwise import BinaryS32, Cast
from .._native.movement import IndexedCopy
from .._native.reduction import COUNTED, Arg, ReduceF32, ReduceNumbers, RunningSums, TopK
from .arg import places
from .tfl import BOOLS, INDEXES, NUMBERS, QUANTIZED, is_boolean, is_same_kind, own, same_dtype, same_values
from .tfl_shape import place_of

MOST_REDUCED = 4
"""Dimensions of what NNAPI's reductions take."""


def axes_of(node):
    """The axes as a sorted tuple without repetitions, all in 0..rank-1; none: nothing is reduced. A single value has
    none, whatever axes are given.
    """
    rank = len(node["input"].shape)
    if not rank:
        return ()
    return tuple(sorted({place_of(node, "axes", axis, rank) for axis in node.numbers("axes")}))


def infer(node):
    """Without the axes, or with size 1 there."""
    axes, keep = axes_of(node), node.scalar("keep_dims")
    return [tuple(1 if a in axes else d for a, d in enumerate(node["input"].shape) if keep or a not in axes)]


def _mean(x, **how):
    if x.dtype.kind == "f":
        return x.astype(np.float64).mean(**how)
    count = x.size // max(1, x.sum(**how).size)
    total = x.astype(np.int64).sum(**how)
    return np.sign(total) * (np.abs(total) // max(1, count))


def _limits(dtype):
    """(lowest, highest) value."""
    if dtype.kind == "b":
        return False, True
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max


_REDUCTIONS = {
    "SUM": lambda x, **how: x.sum(dtype=np.float64 if x.dtype == np.float32 else x.dtype, **how), "MEAN": _mean,
    "REDUCE_PROD": lambda x, **how: x.prod(dtype=x.dtype, **how), "REDUCE_MAX": np.max, "REDUCE_MIN": np.min,
    "REDUCE_ANY": np.any, "REDUCE_ALL": np.all,
}


def compute(node, inputs):
    """The reduction over the axes."""
    kind = node.op.name.removeprefix("TFL_")
    x, axes = inputs[0].astype(bool) if is_boolean(node["input"].type) else inputs[0], axes_of(node)
    if not x.size and kind in ("REDUCE_MAX", "REDUCE_MIN"):
        return [np.full(infer(node)[0], _limits(x.dtype)[kind == "REDUCE_MIN"], node.outputs[0].dtype)]
    result = _REDUCTIONS[kind](x, axis=axes, keepdims=bool(node.scalar("keep_dims"))) if axes else x.copy()
    return [np.asarray(result).astype(node.outputs[0].dtype)]


_STEPS = {"SUM": "sum", "MEAN": "mean", "REDUCE_PROD": "prod", "REDUCE_MAX": "max", "REDUCE_MIN": "min"}
_TRUTHS = {"SUM": "max", "REDUCE_MAX": "max", "REDUCE_ANY": "max", "REDUCE_PROD": "min", "REDUCE_MIN": "min",
           "REDUCE_ALL": "min"}
"""What the reductions of booleans are of bytes."""


def lower(node, b):
    """One step over axes that lie side by side; sums and means of float32 over any, in double."""
    source, axes, kind = node["input"], axes_of(node), node.op.name.removeprefix("TFL_")
    shape, dtype = source.shape, source.dtype.name
    slots = b.slot(source), b.slot(node.outputs[0])
    if not axes or 0 in shape or dtype not in COUNTED and not is_boolean(source.type):
        return f"no native kernel for {dtype} of shape {list(shape)}, {len(axes)} axes"
    if dtype == "float32" and kind in ("SUM", "MEAN") and len(shape) <= MOST_REDUCED:
        terms = prod(shape[axis] for axis in axes)
        b.emit(ReduceF32(slots, "sum", shape, axes, terms if kind == "MEAN" else 1))
        return None
    first, last = axes[0], axes[-1] + 1
    if len(axes) != last - first or dtype == "float32" and kind == "MEAN":
        return f"axes {list(axes)} of {len(shape)} have others between them"
    parts = prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])
    if is_boolean(source.type):
        b.emit(ReduceNumbers(slots, _TRUTHS[kind], "uint8", *parts))
    else:
        b.emit(ReduceNumbers(slots, _STEPS[kind], dtype, *parts))
    return None


def _reduce(name, types, validate):
    return own(f"TFL_{name}", {"input:T axes:I keep_dims:bool -> output:U": {"T": types, "U": types, "I": INDEXES}},
               compute, infer, validate, lower=lower)


TFL_MEAN = _reduce("MEAN", NUMBERS, same_dtype("input"))
# Of booleans sums and maxima are disjunctions, products and minima conjunctions.
TFL_SUM, TFL_REDUCE_PROD = (_reduce(name, NUMBERS + BOOLS, same_dtype("input")) for name in ("SUM", "REDUCE_PROD"))
TFL_REDUCE_MAX, TFL_REDUCE_MIN = (_reduce(name, NUMBERS + QUANTIZED + BOOLS, is_same_kind("input"))
                                  for name in ("REDUCE_MAX", "REDUCE_MIN"))
TFL_REDUCE_ANY, TFL_REDUCE_ALL = (_reduce(name, BOOLS, same_dtype("input")) for name in ("REDUCE_ANY", "REDUCE_ALL"))


# -- along one axis --------------------------------------------------------------------------------------------------
def infer_arg(node):
    """Without the axis, which has elements."""
    shape = node["input"].shape
    axis = place_of(node, "axis", node.scalar("axis"), len(shape))
    if not shape[axis]:
        node.fail("input", f"shape is {list(shape)}, dimension {axis} must have elements")
    return [shape[:axis] + shape[axis + 1:]]


def compute_arg(node, inputs):
    """The first place of the largest or smallest value."""
    found = places(inputs[0], node.scalar("axis"), node.op.name == "TFL_ARG_MIN")
    return [np.asarray(found).astype(node.outputs[0].dtype)]


_ARG_TYPES = {"float32": "f32", "int32": "s32", "uint8": "qu8", "int8": "qs8"}
"""dtype -> kernels' name of it."""


def lower_arg(node, b):
    """One step whatever the axis, and one for places of another type than int32."""
    source, output = node["input"], node.outputs[0]
    if source.dtype.name not in _ARG_TYPES or output.dtype not in (np.int32, np.int64):
        return f"no native kernel from {source.dtype} to {output.dtype}"
    axis, count = node.scalar("axis") % len(source.shape), prod(output.shape)
    target = b.slot(output) if output.dtype == np.int32 else b.temp(4 * count)
    b.emit(Arg((b.slot(source), target), _ARG_TYPES[source.dtype.name], node.op.name == "TFL_ARG_MIN",
               prod(source.shape[:axis]), source.shape[axis], prod(source.shape[axis + 1:])))
    if output.dtype != np.int32:
        b.emit(Cast((target, b.slot(output)), count, "int32", output.dtype.name))
    return None


def infer_cumsum(node):
    """Shape of the input."""
    shape = node["input"].shape
    place_of(node, "axis", node.scalar("axis"), len(shape))
    return [shape]


def compute_cumsum(node, inputs):
    """Sums up to each element, with or without it, from the front or the back."""
    x, axis = inputs[0], node.scalar("axis") % inputs[0].ndim
    if node.scalar("reverse"):
        x = np.flip(x, axis)
    total = np.cumsum(x, axis, x.dtype)
    if node.scalar("exclusive"):
        total = total - x if x.dtype.kind != "f" else np.concatenate(
            [np.zeros_like(total.take([0] if total.shape[axis] else [], axis)),
             total.take(range(total.shape[axis] - 1), axis)], axis)
    return [np.ascontiguousarray(np.flip(total, axis) if node.scalar("reverse") else total)]


def lower_cumsum(node, b):
    """One step."""
    source = node["input"]
    if source.dtype.name not in COUNTED or is_boolean(source.type):
        return f"no native kernel for {source.dtype}"
    axis = node.scalar("axis") % len(source.shape)
    b.emit(RunningSums((b.slot(source), b.slot(node.outputs[0])), source.dtype.name, prod(source.shape[:axis]),
                       source.shape[axis], prod(source.shape[axis + 1:]), node.scalar("exclusive"),
                       node.scalar("reverse")))
    return None


_ORDERED = NUMBERS + QUANTIZED + BOOLS
_ARG = {"input:T axis:I -> output:J": {"T": _ORDERED, "I": INDEXES, "J": INDEXES}}
TFL_ARG_MAX, TFL_ARG_MIN = (own(f"TFL_ARG_{end}", _ARG, compute_arg, infer_arg, lower=lower_arg)
                            for end in ("MAX", "MIN"))
TFL_CUMSUM = own(
    "TFL_CUMSUM",
    {"input:T axis:I exclusive:bool reverse:bool -> output:U": {"T": NUMBERS, "U": NUMBERS, "I": INDEXES}},
    compute_cumsum, infer_cumsum, same_dtype("input"), lower=lower_cumsum)


# -- the largest -----------------------------------------------------------------------------------------------------
def infer_top(node):
    """k instead of the last dimension."""
    shape, k = node["input"].shape, node.scalar("k")
    if not shape or not 0 <= k <= shape[-1]:
        node.fail("k", f"is {k}, must be 0 to the last size of {list(shape)}")
    return [(*shape[:-1], k)] * 2


def compute_top(node, inputs):
    """The largest values, of equal ones the first, and their places."""
    x, k = inputs[0], node.scalar("k")
    places = np.argsort(-x.astype(np.float64 if x.dtype.kind == "f" else np.int64), -1, "stable")[..., :k]
    return [np.take_along_axis(x, places, -1), places.astype(node.outputs[1].dtype)]


_TOP_TYPES = {np.dtype(np.float32): "f32", np.dtype(np.int32): "s32", np.dtype(np.uint8): "qu8",
              np.dtype(np.int8): "qs8"}


def lower_top(node, b):
    """Of equal values NNAPI's step gives the last: it takes the rows the other way round."""
    source, (values, places), k = node["input"], node.outputs, node.scalar("k")
    if source.dtype not in _TOP_TYPES or places.dtype not in (np.int32, np.int64) or not k:
        return f"no native kernel for {k} places as {places.dtype} of {source.dtype}"
    size, item = source.shape[-1], source.dtype.itemsize
    rows = prod(source.shape[:-1])
    turned, found = b.temp(prod(source.shape) * item), b.temp(4 * rows * k)
    b.emit(IndexedCopy((b.slot(source), turned), (rows, size), (rows, range(size - 1, -1, -1)), item))
    b.emit(TopK((turned, b.slot(values), found), _TOP_TYPES[source.dtype], rows, size, k))
    last, target = b.const(np.int32([size - 1])), b.slot(places)
    if places.dtype == np.int32:
        b.emit(BinaryS32((last, found, target), "sub", (1,), (rows * k,)))
        return None
    straight = b.temp(4 * rows * k)
    b.emit(BinaryS32((last, found, straight), "sub", (1,), (rows * k,)))
    b.emit(Cast((straight, target), rows * k, "int32", "int64"))
    return None


TFL_TOPK_V2 = own(
    "TFL_TOPK_V2",
    {"input:T k:I -> values:U places:J": {"T": _ORDERED, "U": _ORDERED, "I": INDEXES, "J": INDEXES}},
    compute_top, infer_top, same_values, lower=lower_top)
