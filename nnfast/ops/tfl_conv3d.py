"""TFLite's CONV_3D and CONV_3D_TRANSPOSE: images of (depth, height, width), floats."""

from itertools import product
from math import inf, prod

import numpy as np

from .._native import conv
from .._native.movement import FillBytes, StridedCopy
from .conv2d import all_finite
from .movement import dense
from .tfl import BOUNDS, INDEXES, own
from .window import Window

_AXES = ("depth", "height", "width")
_OPTIONS = "padding:i32 " + " ".join(f"stride_{name}:i32" for name in _AXES) + " " + \
    " ".join(f"dilation_{name}:i32" for name in _AXES) + " activation:i32"
SAME, VALID = 0, 1


def _steps(node):
    steps = [[node.scalar(f"{kind}_{name}") for name in _AXES] for kind in ("stride", "dilation")]
    for kind, values in zip(("stride", "dilation"), steps):
        for name, value in zip(_AXES, values):
            if value < 1:
                node.fail(f"{kind}_{name}", f"is {value}, must be at least 1")
    node.check_in("padding", (SAME, VALID))
    node.check_in("activation", tuple(BOUNDS))
    return steps


def _geometry(node, sizes, filters):
    """(sizes of the result, zeros before the image) of a convolution of these sizes."""
    strides, dilations = _steps(node)
    spans = [(k - 1) * d + 1 for k, d in zip(filters, dilations)]
    if node.scalar("padding") == SAME:
        out = [-(-n // s) for n, s in zip(sizes, strides)]
    else:
        out = [(n - span) // s + 1 for n, span, s in zip(sizes, spans, strides)]
    heads = [max((o - 1) * s + span - n, 0) // 2 for o, s, span, n in zip(out, strides, spans, sizes)]
    return out, heads


def _taps(node, filters, out, heads, sizes):
    """(filter position, slices of the result, slices of the image) of what lies in the image."""
    strides, dilations = _steps(node)
    axes = []
    for k, o, head, size, s, d in zip(filters, out, heads, sizes, strides, dilations):
        found = []
        for tap in range(k):
            start = tap * d - head
            low, high = max(0, -(start // s)), min(o, (size - 1 - start) // s + 1)
            if low < high:
                begin = start + low * s
                found.append((tap, slice(low, high), slice(begin, begin + (high - low - 1) * s + 1, s)))
        axes.append(found)
    for parts in product(*axes):
        yield tuple(zip(*parts))


def _finished(node, result, bias):
    if bias is not None:
        result += bias
    low, high = BOUNDS[node.scalar("activation")]
    return result if low is None and high is None else np.clip(result, low, high)


# -- CONV_3D ---------------------------------------------------------------------------------------------------------
def infer_conv(node):
    """(batches, depth, height, width, filters)."""
    node.check_rank("input", 5)
    node.check_rank("filter", 5)
    shape, (*filters, depth, count) = node["input"].shape, node["filter"].shape
    if shape[4] != depth or min(filters) < 1:
        node.fail("filter", f"shape is {list(node['filter'].shape)}, must have {shape[4]} channels before the last")
    _check_bias(node, count)
    out, _ = _geometry(node, shape[1:4], filters)
    if min(out) < 1:
        node.fail("filter", f"shape is {list(node['filter'].shape)}, larger than the input {list(shape)}")
    return [(shape[0], *out, count)]


def _check_bias(node, count):
    if node.has("bias") and node["bias"].shape != (count,):
        node.fail("bias", f"shape is {list(node['bias'].shape)}, must be [{count}]")


def compute_conv(node, inputs):
    """Sums over filter positions, then over channels."""
    x, weights, bias = inputs[:3]
    result = np.zeros(infer_conv(node)[0], np.float32)
    filters, sizes = weights.shape[:3], x.shape[1:4]
    out, heads = _geometry(node, sizes, filters)
    for tap, there, here in _taps(node, filters, out, heads, sizes):
        node.go_on()
        result[(slice(None), *there)] += x[(slice(None), *here)] @ weights[tap]
    return [_finished(node, result, bias)]


def lower_conv(node, b):
    """Convolutions of images (height, width), whose channels are those of all depths below the filter."""
    source, weights = node["input"], node["filter"]
    bias = node["bias"].value if node.has("bias") else np.zeros(weights.shape[4], np.float32)
    if weights.value is None or bias is None:
        return "the filter or the bias is computed"
    batch, *sizes, channels = source.shape
    *filters, _, units = weights.shape
    (depth, *out), (front, *head) = _geometry(node, sizes, filters)
    strides, dilations = _steps(node)
    win = Window(*(tuple(pair) for pair in (sizes[1:], filters[1:], strides[1:], dilations[1:], head, out)))
    below = (filters[0] - 1) * dilations[0] + 1
    padding = front, max(0, (depth - 1) * strides[0] + below - sizes[0] - front)
    if (win.is_padded or any(padding)) and not b.packed_fact([weights], lambda: all_finite(weights.value)):
        return "filter has infinite or NaN values, and there is padding"
    images = b.slot(source)
    if filters[0] > 1 or strides[0] > 1:
        images = _stacked(b, source, padding, depth, (strides[0], filters[0], dilations[0]))

    def pack():
        matrix = weights.value.transpose(4, 1, 2, 0, 3).reshape(units, -1)
        return conv.pack_conv2d_f32(np.ascontiguousarray(matrix), bias, 1, b.threads)

    nbytes = conv.packed_bytes_conv2d(units, prod(filters) * channels, 1, False)
    packed = b.const(b.packed([weights], np.uint8, pack, lambda found: found.nbytes == nbytes))
    low, high = BOUNDS[node.scalar("activation")]
    b.emit(conv.Conv2dF32((images, packed, b.slot(node.outputs[0])), win, batch * depth, filters[0] * channels, units,
                          -inf if low is None else low, inf if high is None else high))
    return None


def _stacked(b, source, padding, depth, steps):
    """Slot of [batch, depth, height, width, taps, channels]: what the taps of a filter see of each depth's pixels.

    padding: depths of zeros before and after; steps: stride, taps and dilation along the depth.
    """
    (batch, size, height, width, channels), item = source.shape, source.dtype.itemsize
    stride, taps, dilation = steps
    slot, plane = b.slot(source), height * width * channels * item
    if any(padding):
        framed = size + sum(padding)
        padded = b.temp(batch * framed * plane)
        b.emit(FillBytes((padded,), batch * framed * plane, 0))
        b.emit(StridedCopy((slot, padded), (batch, size * plane), (size * plane, 1), (framed * plane, 1), 1,
                           padding[0] * plane))
        slot, size = padded, framed
    shape = batch, depth, height * width, taps, channels
    made = b.temp(prod(shape) * item)
    along = size * plane, stride * plane, channels * item, dilation * plane, item
    b.emit(StridedCopy((slot, made), shape, along, dense(shape, item), item))
    return made


TFL_CONV_3D = own("TFL_CONV_3D", {f"input:F32 filter:F32 bias?:F32 {_OPTIONS} -> output:F32": {}}, compute_conv,
                  infer_conv, lower=lower_conv)


# -- CONV_3D_TRANSPOSE -----------------------------------------------------------------------------------------------
def infer_transpose(node):
    """The given shape."""
    node.check_rank("input", 5)
    node.check_rank("filter", 5)
    dims, shape, (*filters, count, depth) = node.numbers("shape"), node["input"].shape, node["filter"].shape
    if len(dims) != 5 or min(dims) < 1 or min(filters) < 1:
        node.fail("shape", f"is {dims}, must be 5 sizes of at least 1, of filters of at least 1")
    out, _ = _geometry(node, dims[1:4], filters)
    if (shape[0], *out, depth) != shape or (dims[0], dims[4]) != (shape[0], count):
        node.fail("shape", f"is {dims}: its convolution by {list(node['filter'].shape)} is "
                           f"{[dims[0], *out, depth]}, must be that of the input {list(shape)}")
    _check_bias(node, count)
    return [tuple(dims)]


def compute_transpose(node, inputs):
    """Each value times the filter, added up where they fall."""
    _, weights, x, bias = inputs[:4]
    result = np.zeros(infer_transpose(node)[0], np.float32)
    filters, sizes = weights.shape[:3], result.shape[1:4]
    out, heads = _geometry(node, sizes, filters)
    for tap, there, here in _taps(node, filters, out, heads, sizes):
        node.go_on()
        result[(slice(None), *here)] += x[(slice(None), *there)] @ weights[tap].T
    return [_finished(node, result, bias)]


TFL_CONV_3D_TRANSPOSE = own(
    "TFL_CONV_3D_TRANSPOSE", {f"shape:I filter:F32 input:F32 bias?:F32 {_OPTIONS} -> output:F32": {"I": INDEXES}},
    compute_transpose, infer_transpose)
