"""TFLite's operations that make tensors of a given size: FILL, RANGE, ONE_HOT, TILE, paddings, BROADCAST_TO."""

from math import ceil, inf, nan, prod

import numpy as np

from .._native.movement import Gather, StridedCopy
from .fill import fill_with, lower_fill
from .movement import INDEX_BYTES, MOST_DIMENSIONS, copy_choice, dense
from .tfl import ANY, INDEXES, NUMBERS, dimensions, is_same_kind, own, same_dtype
from .tfl_shape import place_of

_MOST_TABLE = 1 << 20
"""Bytes of all rows of a ONE_HOT up to which a plan keeps them."""


# -- values ----------------------------------------------------------------------------------------------------------
def infer_fill(node):
    """The given dimensions."""
    node.check_elements("value")
    return [dimensions(node, "dims")]


def compute_fill(node, inputs):
    """One value everywhere."""
    return [np.full(dimensions(node, "dims"), node.element("value", inputs[1]))]


def infer_range(node):
    """As many values as fit."""
    start, limit, delta = (node.scalar(name) for name in ("start", "limit", "delta"))
    steps = (limit - start) / delta if delta else nan
    if not 0 <= steps < inf:
        node.fail("delta", f"is {delta}, must lead from {start} to {limit} in a number of steps")
    return [(ceil(steps),)]


def compute_range(node, inputs):
    """start, start + delta and so on, summed up one by one as TFLite does."""
    (count,), dtype = infer_range(node)[0], node.outputs[0].dtype
    steps = np.full(count, node.element("delta", inputs[2]), dtype)
    if count:
        steps[0] = node.element("start", inputs[0])
    return [np.add.accumulate(steps, dtype=dtype)]


def infer_one_hot(node):
    """A dimension of the given depth in the indices' shape."""
    shape, depth = node["indices"].shape, node.scalar("depth")
    if depth < 0:
        node.fail("depth", f"is {depth}, must not be negative")
    node.check_elements("on")
    node.check_elements("off")
    axis = place_of(node, "axis", node.scalar("axis"), len(shape) + 1)
    return [(*shape[:axis], depth, *shape[axis:])]


def compute_one_hot(node, inputs):
    """`on` where the index is, `off` elsewhere."""
    indices, depth = inputs[0], node.scalar("depth")
    on, off = (node.element(name, array) for name, array in zip(("on", "off"), inputs[2:4]))
    axis = node.scalar("axis") % (indices.ndim + 1)
    shape = indices.shape[:axis], indices.shape[axis:]
    result = np.full((prod(shape[0]), depth, prod(shape[1])), off, node.outputs[0].dtype)
    indices = indices.reshape(prod(shape[0]), prod(shape[1]))
    before, after = np.nonzero((indices >= 0) & (indices < depth))
    result[before, indices[before, after], after] = on
    return [result.reshape(*shape[0], depth, *shape[1])]


def lower_one_hot(node, b):
    """Rows of a table of all of them, by index; indices outside are left to `compute`."""
    indices, output = node["indices"], node.outputs[0]
    on, off = node["on"].value, node["off"].value
    if node.scalar("axis") % len(output.shape) != len(indices.shape) or indices.dtype.name not in ("int32", "int64"):
        return "not along the last axis, or by indices that are neither int32 nor int64"
    depth, row = output.shape[-1], output.shape[-1] * output.dtype.itemsize
    if on is None or off is None or not 0 < depth * row <= _MOST_TABLE:
        return f"the values are computed, or {depth} rows have no bytes or more than {_MOST_TABLE}"
    table = np.full((depth, depth), node.element("off", off), output.dtype)
    np.fill_diagonal(table, node.element("on", on))
    slots = b.const(table), b.slot(indices), b.slot(output)
    b.emit(Gather(slots, 1, 1, (depth,), prod(indices.shape), row, indices.dtype.itemsize), declines=True)
    return None


_VALUED = {"T": ANY, "U": ANY, "I": INDEXES, "V": ANY, "J": INDEXES}
TFL_FILL = own("TFL_FILL", {"dims:I value:T -> output:U": _VALUED}, compute_fill, infer_fill, same_dtype("value"),
               lower=lower_fill, moves=True)
TFL_RANGE = own("TFL_RANGE", {"start:A limit:B delta:C -> output:D": dict.fromkeys("ABCD", NUMBERS)}, compute_range,
                infer_range, same_dtype("start", "limit", "delta"))
TFL_ONE_HOT = own("TFL_ONE_HOT", {"indices:I depth:J on:T off:V axis:i32 -> output:U": _VALUED}, compute_one_hot,
                  infer_one_hot, same_dtype("on", "off"), lower=lower_one_hot)


# -- more of the same ------------------------------------------------------------------------------------------------
def infer_tile(node):
    """Sizes times the multiples."""
    shape, times = node["input"].shape, dimensions(node, "multiples")
    if len(times) != len(shape):
        node.fail("multiples", f"are {list(times)}, must be {len(shape)}")
    return [tuple(d * n for d, n in zip(shape, times))]


def compute_tile(node, inputs):
    """The input again and again."""
    return [np.tile(inputs[0], infer_tile(node) and node.numbers("multiples"))]


def lower_tile(node, b):
    """A copy by indices."""
    return copy_choice(b, node["input"], node.outputs[0], infer_tile(node)[0])


def _broadcast(node, name, *shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except (ValueError, RuntimeError):  # of more dimensions than numpy has
        node.fail(name, f"shapes {', '.join(str(list(shape)) for shape in shapes)} cannot be broadcast")


def infer_broadcast_to(node):
    """The given dimensions."""
    dims = dimensions(node, "shape")
    if _broadcast(node, "shape", node["input"].shape, dims) != dims:
        node.fail("shape", f"is {list(dims)}, shape {list(node['input'].shape)} cannot be broadcast to it")
    return [dims]


def compute_broadcast_to(node, inputs):
    """Dimensions of size 1 repeated."""
    return [np.broadcast_to(inputs[0], infer_broadcast_to(node)[0]).copy()]


def lower_broadcast_to(node, b):
    """A copy by indices."""
    source, output = node["input"], node.outputs[0]
    shape = (1,) * (len(output.shape) - len(source.shape)) + source.shape
    return copy_choice(b, source, output, output.shape, shape)


def infer_broadcast_args(node):
    """One size for each dimension of the longer shape."""
    for name in ("first", "second"):
        node.check_rank(name, 0, 1)
    return [(max(node[name].shape[0] if node[name].shape else 1 for name in ("first", "second")),)]


def compute_broadcast_args(node, inputs):
    """The common shape of two shapes."""
    shapes = [tuple(int(d) for d in array.reshape(-1)) for array in inputs]
    return [np.array(_broadcast(node, "second", *shapes), node.outputs[0].dtype)]


TFL_TILE = own("TFL_TILE", {"input:T multiples:I -> output:U": _VALUED}, compute_tile, infer_tile,
               is_same_kind("input"), lower=lower_tile, moves=True)
TFL_BROADCAST_TO = own("TFL_BROADCAST_TO", {"input:T shape:I -> output:U": _VALUED}, compute_broadcast_to,
                       infer_broadcast_to, is_same_kind("input"), lower=lower_broadcast_to, moves=True)
TFL_BROADCAST_ARGS = own("TFL_BROADCAST_ARGS", {"first:I second:J -> output:K": _VALUED | {"K": INDEXES}},
                         compute_broadcast_args, infer_broadcast_args, same_dtype("first", "second"))


# -- paddings --------------------------------------------------------------------------------------------------------
def _paddings(node):
    shape, table = node["input"].shape, node.value("paddings")
    if table.shape != (len(shape), 2) or table.min(initial=0) < 0:
        node.fail("paddings", f"are {table.reshape(-1).tolist()[:16]}, must be two of at least 0 for each of the "
                              f"{len(shape)} dimensions")
    return table.tolist()


def infer_pad(node):
    """Sizes with the paddings."""
    return [tuple(low + d + high for d, (low, high) in zip(node["input"].shape, _paddings(node)))]


def compute_pad(node, inputs):
    """A value, or the zero of the type, around the input."""
    value = node.element("value", inputs[2]) if node.has("value") else node.outputs[0].zero_point
    return [np.pad(inputs[0], _paddings(node), constant_values=value)]


def lower_pad(node, b):
    """Fill the output, then copy the input into it."""
    source, output = node["input"], node.outputs[0]
    if len(source.shape) > MOST_DIMENSIONS:
        return f"rank is {len(source.shape)}, native up to {MOST_DIMENSIONS}"
    if node.has("value") and node["value"].value is None:
        return "the value is not a constant"
    value = node.element("value", node["value"].value) if node.has("value") else output.zero_point
    reason = fill_with(b, output, value)
    if reason is not None:
        return reason
    item = source.dtype.itemsize
    target = dense(output.shape, item)
    offset = sum(before * step for (before, _), step in zip(_paddings(node), target))
    b.emit(StridedCopy((b.slot(source), b.slot(output)), source.shape, dense(source.shape, item), target, item, offset))
    return None


def infer_mirror(node):
    """As PAD; there must be enough to mirror."""
    shape, edge = node["input"].shape, node.check_in("mode", (0, 1)) == 0
    if any(max(pair) > d - edge for pair, d in zip(_paddings(node), shape)):
        node.fail("paddings", f"are more than shape {list(shape)} has to mirror")
    return infer_pad(node)


def compute_mirror(node, inputs):
    """The input mirrored, 0: without, 1: with its border."""
    return [np.pad(inputs[0], _paddings(node), "symmetric" if node.scalar("mode") else "reflect")]


def lower_mirror(node, b):
    """A copy by indices, which continue backwards as the elements do."""
    source, mode, indices = node["input"], "symmetric" if node.scalar("mode") else "reflect", []
    for size, pads in zip(source.shape, _paddings(node)):
        b.reserve(INDEX_BYTES * (size + sum(pads)))
        indices.append(np.pad(np.arange(size), pads, mode) if any(pads) else size)
    return copy_choice(b, source, node.outputs[0], indices)


TFL_PAD = own("TFL_PAD", {"input:T paddings:I -> output:U": _VALUED}, compute_pad, infer_pad, is_same_kind("input"),
              lower=lower_pad, moves=True)
TFL_PADV2 = own("TFL_PADV2", {"input:T paddings:I value:V -> output:U": _VALUED}, compute_pad, infer_pad,
                is_same_kind("input", "value"), lower=lower_pad, moves=True)
TFL_MIRROR_PAD = own("TFL_MIRROR_PAD", {"input:T paddings:I mode:i32 -> output:U": _VALUED}, compute_mirror,
                     infer_mirror, is_same_kind("input"), lower=lower_mirror, moves=True)


# -- diagonals -------------------------------------------------------------------------------------------------------
def infer_diagonal(node):
    """A square matrix for each row."""
    node.check_rank("input", 1, 7)
    shape = node["input"].shape
    return [(*shape, shape[-1])]


def compute_diagonal(node, inputs):
    """The rows on the diagonals, zeros elsewhere."""
    result = np.zeros(infer_diagonal(node)[0], inputs[0].dtype)
    places = np.arange(result.shape[-1])
    result[..., places, places] = inputs[0]
    return [result]


def infer_set_diagonal(node):
    """Shape of the input."""
    node.check_rank("input", 2, 8)
    shape, diagonal = node["input"].shape, node["diagonal"].shape
    if diagonal != (*shape[:-2], min(shape[-2:])):
        node.fail("diagonal", f"shape is {list(diagonal)}, must be {[*shape[:-2], min(shape[-2:])]}")
    return [shape]


def compute_set_diagonal(node, inputs):
    """The matrices with other diagonals."""
    result = inputs[0].copy()
    places = np.arange(inputs[1].shape[-1])
    result[..., places, places] = inputs[1]
    return [result]


TFL_MATRIX_DIAG = own("TFL_MATRIX_DIAG", {"input:T -> output:U": {"T": ANY, "U": ANY}}, compute_diagonal,
                      infer_diagonal, is_same_kind("input"))
TFL_MATRIX_SET_DIAG = own("TFL_MATRIX_SET_DIAG",
                          {"input:T diagonal:U -> output:V": {"T": ANY, "U": ANY, "V": ANY}},
                          compute_set_diagonal, infer_set_diagonal, is_same_kind("input", "diagonal"))
