"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR to a size or by a factor [NN 14.23, 15.94]."""

import math

import numpy as np

from .._native.spatial import ResizeBilinear
from ..model.quant import round_half_away
from ..model.types import OperandType, OperationType, type_name
from .base import OpDef, forms
from .movement import copy_choice

_OPTIONS = (("", "1.0"), (" layout:bool", "1.2"), (" layout:bool align_corners:bool", "1.3"),
            (" layout:bool align_corners:bool half_pixel_centers:bool", "1.3"))


PART = 1 << 18
"""Positions of a table computed between two checks of a preparation's limits."""

TABLE_BYTES = 64
"""Bytes per position of a table, during its construction and in the step that keeps it."""


def _numbers(positions):
    """float32 numbers of a range of positions."""
    return np.arange(positions.start, positions.stop).astype(np.float32)


def validate(node):
    """Rank is 4."""
    node.check_rank("input", 4)


def _new_size(node, name, size):
    """Output size along one axis: given as a number, or as a factor of the input size (float32 product, truncated)."""
    value = node.scalar(name)
    if node[name].type != OperandType.INT32:
        with np.errstate(over="ignore"):
            product = float(np.float32(size) * np.float32(value))
        if not 0 < product < 2**31:
            node.fail(name, f"is {value:g}, must be a factor that gives a positive size of an input of {size}")
        value = math.floor(product)
    if value < 1:
        node.fail(name, f"gives an output size of {value}, must be at least 1")
    return value


def infer(node):
    """Batch and channels stay, height and width are the new ones; width comes first among the inputs."""
    validate(node)
    shape = node["input"].shape
    height_axis = 2 if node.layout_nchw else 1
    width = _new_size(node, "width", shape[height_axis + 1])
    height = _new_size(node, "height", shape[height_axis])
    if node.scalar("align_corners", False) and node.scalar("half_pixel_centers", False):
        node.fail("half_pixel_centers", "is true together with align_corners, at most one may be")
    result = shape[:height_axis] + (height, width) + shape[height_axis + 2:]
    if 0 not in result:
        node.check_elements("input")
    return [result]


def _options(node):
    """(align_corners, half_pixel_centers)"""
    return node.scalar("align_corners", False), node.scalar("half_pixel_centers", False)


def _tables(b, function, size, new_size, options):
    """function(size, new_size, *options) for all positions, made in parts between which the preparation may end."""
    b.reserve(TABLE_BYTES * new_size)
    parts = []
    for first in range(0, new_size, PART):
        b.go_on()
        parts.append(function(size, new_size, *options, range(first, min(first + PART, new_size))))
    return parts


def axis_weights(size, new_size, align_corners, half_pixel_centers, positions=None):
    """(lower index, upper index, float32 weight of the upper) of output positions along one axis, by default of all."""
    if align_corners and new_size > 1:
        ratio = np.float32(size - 1) / np.float32(new_size - 1)
    else:
        ratio = np.float32(size) / np.float32(new_size)
    at = _numbers(positions or range(new_size))
    at = (at + np.float32(0.5)) * ratio - np.float32(0.5) if half_pixel_centers else at * ratio
    # float32 may round the last position up to `size`.
    low = np.clip(np.floor(at), 0, size - 1).astype(np.int64)
    high = np.minimum(np.ceil(at), size - 1).astype(np.int64)
    return low, high, at - low.astype(np.float32)


_ONE = 1 << 10
"""Fixed-point 1.0 of the weights by which LiteRT interpolates int8 codes."""


def integer_weights(size, new_size, align_corners, half_pixel_centers, positions=None):
    """As axis_weights, with weights in multiples of 1 / _ONE, as LiteRT has it for int8; exact in float32."""
    if align_corners and new_size > 1:
        ratio = (_ONE * (size - 1) + (new_size - 1) // 2) // (new_size - 1)
    else:
        ratio = (_ONE * size + new_size // 2) // new_size
    positions = positions or range(new_size)
    at = np.arange(positions.start, positions.stop, dtype=np.int64) * ratio
    if half_pixel_centers:
        at += ratio // 2 - _ONE // 2
    low = np.maximum(at // _ONE, 0)
    high = np.clip(-(-at // _ONE), 0, size - 1)
    low = np.minimum(low, size - 1)
    return low, high, ((at - low * _ONE) / _ONE).astype(np.float32)


def _is_fixed(node):
    """Whether int8 and int16 codes are interpolated in LiteRT's integers."""
    return node.is_litert and node["input"].dtype in (np.int8, np.int16)


def _compute_integers(node, x):
    """Exact sums of codes times integer weights, rounded half away from zero; x: NHWC."""
    output = node.outputs[0]
    height, width = infer(node)[0][1:3]
    top, bottom, down = integer_weights(x.shape[1], height, *_options(node))
    left, right, across = integer_weights(x.shape[2], width, *_options(node))
    x, down, across = x.astype(np.float64), down[:, None, None].astype(np.float64), across[:, None].astype(np.float64)
    rows = x[:, top] * (1 - down) + x[:, bottom] * down
    value = rows[:, :, left] * (1 - across) + rows[:, :, right] * across
    limits = np.iinfo(output.dtype)
    return [np.clip(round_half_away(value), limits.min, limits.max).astype(output.dtype)]


def compute(node, inputs):
    """float32 sums of the four neighbours in the order of the reference; 8-bit codes are truncated after adding 0.5."""
    x, dtype = inputs[0], node.outputs[0].dtype
    nchw = node.layout_nchw
    if _is_fixed(node):
        return _compute_integers(node, x)
    (shape,) = infer(node)
    height, width = shape[2:] if nchw else shape[1:3]
    x = (np.moveaxis(x, 1, -1) if nchw else x).astype(np.float32)
    options = _options(node)
    top, bottom, down = axis_weights(x.shape[1], height, *options)
    left, right, across = axis_weights(x.shape[2], width, *options)
    down, across, one = down[:, None, None], across[:, None], np.float32(1)
    with np.errstate(all="ignore"):
        upper, lower = x[:, top], x[:, bottom]
        value = upper[:, :, left] * (one - down) * (one - across)
        value += lower[:, :, left] * down * (one - across)
        value += upper[:, :, right] * (one - down) * across
        value += lower[:, :, right] * down * across
        if dtype.kind != "f":
            value = np.trunc(value + np.float32(0.5))
        value = value.astype(dtype)
    return [np.ascontiguousarray(np.moveaxis(value, -1, 1) if nchw else value)]


_TYPES = {"float32": "f32", "uint8": "qu8", "int8": "qs8"}
"""dtype -> its name in kernels."""


_EXACT_BITS = 14
"""Bits behind the point that the product of two weights may have: with a code of 8 bits and weights up to 2 or from -1
on, sums of four products fit the 24 bits of a float32."""


def _bits(weights):
    """Bits behind the point of multiples of 1 / _ONE; of other weights more than may be."""
    steps = np.abs(weights * _ONE).astype(np.int64)
    if np.any(steps != np.abs(weights * _ONE)):
        return _EXACT_BITS + 1
    steps = int(np.bitwise_or.reduce(steps))
    return 10 - ((steps & -steps).bit_length() - 1) if steps else 0


def lower(node, b):
    """One step; with NCHW every channel is treated as an image."""
    source, output = node["input"], node.outputs[0]
    if source.dtype.name not in _TYPES:
        return f"no native kernel for {type_name(source.type)}"
    shape, height_axis = source.shape, 1
    if node.layout_nchw:
        shape, height_axis = (shape[0] * shape[1], *shape[2:], 1), 2
    is_fixed = _is_fixed(node)
    rows, columns = ([np.concatenate(part) for part in zip(*_tables(b, integer_weights if is_fixed else axis_weights,
                                                                   source.shape[axis], output.shape[axis],
                                                                   _options(node)))]
                     for axis in (height_axis, height_axis + 1))
    is_exact = _bits(rows[2]) + _bits(columns[2]) <= _EXACT_BITS
    b.emit(ResizeBilinear((b.slot(source), b.slot(output)), _TYPES[source.dtype.name], shape, rows, columns, is_fixed,
                          is_exact))
    return None


RESIZE_BILINEAR = OpDef(
    OperationType.RESIZE_BILINEAR,
    forms(
        *((f"input:T width:i32 height:i32{options} -> output:T", since) for options, since in _OPTIONS),
        *((f"input:T width:fT height:fT{options} -> output:T", max(since, "1.2")) for options, since in _OPTIONS),
        sets=("1.0: F32", "1.2: F16", "1.2: Q8", "1.3: Q8S"),
    ),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same", zero_sized="batch",
)


# -- RESIZE_NEAREST_NEIGHBOR -------------------------------------------------------------------------------------------
def axis_indices(size, new_size, align_corners, half_pixel_centers, positions=None):
    """Input index of output positions along one axis, by default of all; half pixels shift up only, as in the
    reference."""
    if align_corners and new_size > 1:
        ratio = np.float32(size - 1) / np.float32(new_size - 1)
    else:
        ratio = np.float32(size) / np.float32(new_size)
    at = _numbers(positions or range(new_size))
    at = (at + np.float32(0.5)) * ratio if half_pixel_centers else at * ratio
    at = round_half_away(at) if align_corners else np.floor(at)
    return np.minimum(at, size - 1).astype(np.int64)


def compute_nearest(node, inputs):
    """Copies of the nearest elements."""
    (shape,) = infer(node)
    height_axis = 2 if node.layout_nchw else 1
    result = inputs[0]
    options = _options(node)
    for axis in (height_axis, height_axis + 1):
        result = np.take(result, axis_indices(result.shape[axis], shape[axis], *options), axis)
    return [result]


def lower_nearest(node, b):
    """One step that copies what `axis_indices` chooses along height and width."""
    source, output = node["input"], node.outputs[0]
    indices = list(source.shape)
    height_axis = 2 if node.layout_nchw else 1
    for axis in (height_axis, height_axis + 1):
        indices[axis] = np.concatenate(_tables(b, axis_indices, source.shape[axis], output.shape[axis], _options(node)))
    return copy_choice(b, source, output, indices)


RESIZE_NEAREST_NEIGHBOR = OpDef(
    OperationType.RESIZE_NEAREST_NEIGHBOR,
    forms(
        *((f"input:T width:{size} height:{size}{options} -> output:T", max(since, "1.2"))
          for size in ("i32", "fT") for options, since in _OPTIONS[1:]),
        sets=("1.2: F16", "1.2: F32", "1.2: Q8", "1.3: Q8S"),
    ),
    validate=validate, infer=infer, compute=compute_nearest, lower=lower_nearest, quant="same", zero_sized="batch",
)
