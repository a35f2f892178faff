"""Operators of int16 tensors with int8 or int16 weights (16x8), as LiteRT's reference kernels compute them.

Sums are int64; int64 sums are rounded once, by 16 bits of the multiplier, int32 sums twice, as those of int8 tensors.
"""

from functools import partial
from math import prod

import numpy as np

from .._native import conv
from .._native.elementwise import RealsQ16, RequantizeQ16, SplitQ16
from .._native.movement import IndexedCopy
from ..model import quant
from . import conv2d, depthwise_conv2d, requantize, transpose_conv2d, window
from .base import check_activation
from .tfl import image_shape, own, ratio_multiplier, same_shape

_LOW, _HIGH = -(1 << 15), (1 << 15) - 1


def clamp_of(node):
    """(lowest, highest) int16 code that the fused activation leaves."""
    target = node.outputs[0]
    return quant.activation_range(node.scalar("activation", 0), target.type, target.scale, target.zero_point)


def clamped(node, values):
    """int16 codes of scaled values, within the fused activation; their zero point is 0."""
    return np.clip(values, *clamp_of(node)).astype(node.outputs[0].dtype)


def scale_of(tensor):
    """The float32 scale as a float."""
    return float(np.float32(tensor.scale))


# -- weights ---------------------------------------------------------------------------------------------------------
def _multipliers(node):
    """(multipliers, exponents), int64 arrays of one or of `units` values."""
    reals = quant.conv_multiplier(node.inputs[0].scale, requantize.weight_scales(node.inputs[1]), node.outputs[0].scale,
                                  np.float64)
    return quant.quantize_multipliers(np.atleast_1d(reals))


def rescaled(node, sums, bias):
    """Codes from exact float64 sums, channels last; `bias` is int32, int64 or None."""
    sums, scale = sums.astype(np.int64), quant.mbqm_wide
    if bias is not None:
        sums = sums + bias
        if bias.dtype == np.int32:
            scale = quant.mbqm
    return [clamped(node, scale(sums, *_multipliers(node)))]


def _operands(node, inputs):
    """(image, filter, bias) of a convolution, without zero points."""
    return (*(requantize.centred(node[name], array) for name, array in zip(("input", "filter"), inputs)),
            inputs[2] if node["bias"].present else None)


def check_bias(node, units):
    """A bias, where there is one, has a value for each unit."""
    check_activation(node)
    if node["bias"].present and node["bias"].shape != (units,):
        node.fail("bias", f"has shape {list(node['bias'].shape)}, must be [{units}]")


def infer_conv(node):
    """Output of a convolution of one or several groups."""
    batch, _, _, channels = image_shape(node)
    node.check_rank("filter", 4)
    requantize.check_channel_dim(node, "filter", 0)
    units, _, _, depth = node["filter"].shape
    if depth < 1 or channels < 1 or channels % depth or units % (channels // depth):
        node.fail("filter", f"has {units} outputs of {depth} channels, which make no groups of {channels} channels")
    check_bias(node, units)
    return [(batch, *conv2d.geometry(node).output, units)]


def group_sums(image, filter_, win):
    """conv2d.sums of as many groups as the channels make."""
    groups = image.shape[3] // filter_.shape[3]
    parts = zip(np.split(image, groups, axis=3), np.split(filter_, groups))
    return np.concatenate([conv2d.sums(*part, win) for part in parts], axis=3)


# -- native: a product with the upper and one with the lower bytes of the codes
_MOST_DEPTH = 1 << 16
"""Products of two bytes whose sum stays within 32 bits."""
_EXACT = 1 << 52
"""Biases within this leave sums of products that float64 has exactly."""


def _scale_of_sums(node, units):
    """(scale, wide) of RequantizeQ16, or why there is none."""
    if node["bias"].present and node["bias"].dtype not in (np.int32, np.int64):
        return f"a bias of {node['bias'].dtype}"
    if node.has("weights"):
        return np.full(units, _real_multiplier(node)), False
    multipliers, exponents = (np.full(units, values) for values in _multipliers(node))
    wide = not node["bias"].present or node["bias"].dtype == np.int64
    if exponents.max() > (14 if wide else 31):
        return f"multipliers of 2^{exponents.max()}"
    if wide:
        multipliers, exponents = quant.upper_half(multipliers), 15 - exponents
    return (multipliers.astype(np.int32), exponents.astype(np.int32)), wide


def _obstacle(node, units, depth):
    """Why there is no native form, or None."""
    weights, bias, target = node.inputs[1], node["bias"], node.outputs[0]
    if weights.dtype != np.int8 or weights.channel_quant is None and weights.zero_point:
        return f"no native kernel for weights of {weights.dtype} with zero point {weights.zero_point}"
    if prod(target.shape) == 0 or prod(node["input"].shape) == 0 or depth >= _MOST_DEPTH:
        return f"no native kernel for an output of shape {list(target.shape)}, sums of {depth} products"
    if node.has("weights") and bias.present and bias.dtype == np.int64 and not _is_exact(bias.value):
        what = "computed" if bias.value is None else "beyond 52 bits"
        return f"a bias is {what}, native where sums are exact in float64"
    scale = _scale_of_sums(node, units)
    return f"no native kernel for {scale}" if isinstance(scale, str) else None


def _is_exact(bias):
    return bias is not None and -_EXACT < bias.min() <= bias.max() < _EXACT


def _halves(node, b):
    """Slot of the input's upper and lower bytes."""
    count = prod(node["input"].shape)
    codes = b.temp(2 * count)
    b.emit(SplitQ16((b.slot(node["input"]), codes), count))
    return codes


def _emit_products(node, b, matrix, win, batch, groups, codes, target):
    """The product of a conv2d.Matrix: as the hybrid convolutions, of twice as many images of bytes."""
    units, depth = matrix.units, matrix.depth
    scale, wide = _scale_of_sums(node, units)
    channels, each = depth // prod(win.filter) * groups, units // groups
    packed, offset = _packed(b, matrix, node["bias"], each, groups)
    height, width = win.output
    rows = batch * height * width
    sums = b.temp(8 * rows * units)
    zeros = b.const(conv.image_zeros([128] * batch + [0] * batch))
    place = conv2d.Placement(channels, units, width * units, height * width * units, groups=groups,
                             group=channels // groups, out_group=each)
    b.emit(conv.Conv2dQ8((codes, packed, sums, zeros), win, 2 * batch, channels // groups, each,
                         (np.dtype(np.int8), 0), 0, (0, 0, 255), False, place, as_sums=True))
    b.emit(RequantizeQ16((sums, offset, target), rows, units, scale, clamp_of(node), wide))


def _packed(b, matrix, bias, each, groups):
    """Slots of packed weights, and of the int64 number of each unit that its sums lack: its bias, less what the upper
    bytes have too much, 128 times 256."""
    units, depth = matrix.units, matrix.depth
    packed = packed_sums(b, matrix, each, groups, bias if bias.present else None)
    if type(packed) is tuple:
        packed, slot = packed
        sums, offset, size = b.temp(4 * units), b.temp(8 * units), bias.dtype.itemsize if bias.present else 0
        b.emit(conv.UnitSums((slot, sums), units, depth))
        b.emit(conv.UnitOffsets((sums, b.slot(bias) if size else sums, offset), units, -(1 << 15), size))
        return packed, offset
    offset = b.packed([matrix.weights], np.int64, lambda: matrix.value().sum(axis=1, dtype=np.int64) * -(1 << 15),
                      lambda found: len(found) == units, is_read=bias.present)
    return packed, b.const(offset + b.value(bias) if bias.present else offset)


def packed_sums(b, matrix, each, groups, bias):
    """Slot of int8 weights packed for sums; with that of the matrix if weights or bias (or None) are computed."""
    depth, zeros = matrix.depth, np.zeros(each * groups, np.int32)
    if matrix.weights.value is None or bias is not None and bias.value is None:
        slot, packed = matrix.slot(b), b.temp(conv.packed_bytes_conv2d(each, depth, groups, True, True))
        b.emit(conv.PackQ8((slot, b.const(zeros), packed), each, depth, groups, (np.dtype(np.int8), 0), 0, False, zeros,
                           zeros, True))
        return packed, slot
    return b.const(b.packed(
        [matrix.weights], np.uint8,
        lambda: conv.pack_conv2d_q8(matrix.value(), zeros, 0, 0, False, zeros, zeros, groups, True),
        lambda found: conv.fits_conv2d_q8(found, each, depth, groups, True)))


def _lower_products(node, b, matrix, win, batch, groups):
    reason = _obstacle(node, matrix.units, matrix.depth)
    if reason is None:
        _emit_products(node, b, matrix, win, batch, groups, _halves(node, b), b.slot(node.outputs[0]))
    return reason


def lower_conv(node, b):
    """Of as many groups as the channels make."""
    return _lower_products(node, b, conv2d.Matrix(node["filter"]), conv2d.geometry(node).lying, node["input"].shape[0],
                           node["input"].shape[3] // node["filter"].shape[3])


def lower_depthwise(node, b):
    """Sums of words; as a convolution of a group for each channel where numbers are computed or taps are many."""
    filter_, bias, win = node["filter"], node["bias"], depthwise_conv2d.geometry(node).lying
    taps, units = prod(filter_.shape[1:3]), filter_.shape[3]
    reason = _obstacle(node, units, taps)
    if reason is None and taps <= conv.MOST_WORDS and filter_.value is not None and \
            (bias.value is not None or not bias.present):
        _emit_depthwise(node, b, win)
        return None
    return reason or _lower_products(node, b, conv2d.Matrix(node["filter"], is_turned=True), win,
                                     node["input"].shape[0], node["input"].shape[3])


def _emit_depthwise(node, b, win):
    source, filter_, bias = node["input"], node["filter"], node["bias"]
    (batch, *_, channels), units = source.shape, filter_.shape[3]
    scale, wide = _scale_of_sums(node, units)
    image, rows = b.slot(source), batch * prod(win.output)
    if units > channels:  # the kernels compute one output per channel
        count = prod(source.shape)
        repeated = b.temp(2 * units // channels * count)
        b.emit(IndexedCopy((image, repeated), (count, 1), (count, units // channels), 2))
        image = repeated
    weights = b.packed([filter_], np.int32, lambda: filter_.value.reshape(-1).astype(np.int32),
                       lambda found: len(found) == filter_.value.size)
    offset = b.value(bias).astype(np.int64) if bias.present else np.zeros(units, np.int64)
    sums = b.temp(4 * rows * units)
    b.emit(conv.DepthwiseSumsQ16((image, sums), batch, win, weights, units))
    b.emit(RequantizeQ16((sums, b.const(offset), b.slot(node.outputs[0])), rows, units, scale, clamp_of(node), wide,
                         False))


def lower_dense(node, b):
    """A convolution of one tap over rows."""
    if node["input"].dtype != np.int16:
        return f"no native kernel from {node['input'].dtype} to int16"
    rows = prod(node["input"].shape) // node["weights"].shape[1]
    return _lower_products(node, b, conv2d.Matrix(node["weights"]), window.POINT, rows, 1)


def lower_transposed(node, b):
    """A convolution for each phase."""
    win, filter_, batch = transposed_geometry(node), node["filter"], node["input"].shape[0]
    parts = transpose_conv2d.parts(win)
    reason = parts if isinstance(parts, str) else _obstacle(node, filter_.shape[0], prod(filter_.shape[1:]))
    if reason is not None:
        return reason
    codes, target = _halves(node, b), b.slot(node.outputs[0])
    for taps, part, first in parts:
        emit = partial(_emit_products, node, b, conv2d.Matrix(filter_, taps), part, batch, 1, codes)
        transpose_conv2d.scattered(b, win, part, first, batch, filter_.shape[0], 2, target, emit)
    return None


def compute_conv(node, inputs):
    """CONV_2D."""
    image, filter_, bias = _operands(node, inputs)
    return rescaled(node, group_sums(image, filter_, conv2d.geometry(node)), bias)


def infer_depthwise(node):
    """Output of a depthwise convolution."""
    batch, _, _, channels = image_shape(node)
    node.check_rank("filter", 4)
    requantize.check_channel_dim(node, "filter", 3)
    first, _, _, units = node["filter"].shape
    if first != 1 or channels < 1 or units % channels:
        node.fail("filter", f"has shape {list(node['filter'].shape)}, must be [1, .., .., a multiple of {channels}]")
    check_bias(node, units)
    return [(batch, *depthwise_conv2d.geometry(node).output, units)]


def compute_depthwise(node, inputs):
    """DEPTHWISE_CONV_2D."""
    image, filter_, bias = _operands(node, inputs)
    win = depthwise_conv2d.geometry(node)
    return rescaled(node, depthwise_conv2d.sums(image, filter_, win, filter_.shape[3] // image.shape[3]), bias)


CONVOLUTION = f"input:T filter:W bias?:B {window.IMPLICIT} activation:i32 layout:bool {window.DILATION} -> output:T"
_TYPES = {"T": ("Q16S",), "W": ("PC", "Q8S", "Q16S"), "B": ("I32", "I64", "F32")}
TFL_INT16_CONV_2D = own("TFL_INT16_CONV_2D", {CONVOLUTION: _TYPES}, compute_conv, infer_conv, lower=lower_conv,
                        multiply_adds=True)
TFL_INT16_DEPTHWISE_CONV_2D = own("TFL_INT16_DEPTHWISE_CONV_2D", {CONVOLUTION: _TYPES}, compute_depthwise,
                                  infer_depthwise, lower=lower_depthwise, multiply_adds=True)


def infer_dense(node):
    """[..., units]: with keep_dims the input's dimensions but the last, else the rows of the weights' size."""
    node.check_rank("weights", 2)
    requantize.check_channel_dim(node, "weights", 0)
    units, size = node["weights"].shape
    shape = node["input"].shape
    elements = int(np.prod(shape))
    if size < 1 or elements % size:
        node.fail("input", f"has {elements} elements, must be a multiple of the weights' input size {size}")
    if node.scalar("keep_dims") and shape[-1:] != (size,):
        node.fail("input", f"shape is {list(shape)}, must end in the weights' input size {size} to keep its dimensions")
    check_bias(node, units)
    return [(*shape[:-1], units) if node.scalar("keep_dims") else (elements // size, units)]


def _real_multiplier(node):
    return quant.conv_multiplier(node["input"].scale, requantize.weight_scales(node["weights"]), node.outputs[0].scale,
                                 np.float64)


def compute_dense(node, inputs):
    """FULLY_CONNECTED: real multipliers in double, rounded once; int16 weights as convolutions of int64 sums. Codes of
    int8 are taken for bytes without a sign, as LiteRT does where the result is int16.
    """
    (shape,) = infer_dense(node)
    codes = [array.view(np.uint8) if node["input"].dtype == np.int8 else array for array in inputs[:2]]
    x, weights = (requantize.centred(node[name], array) for name, array in zip(("input", "weights"), codes))
    sums = (x.reshape(-1, weights.shape[1]) @ weights.T).reshape(shape)
    bias = inputs[2] if node["bias"].present else None
    if node["weights"].dtype == np.int16:
        return rescaled(node, sums, None if bias is None else bias.astype(np.int64))
    return [clamped(node, quant.round_half_away((sums if bias is None else sums + bias) * _real_multiplier(node)))]


DENSE = "input:T weights:W bias?:B activation:i32 keep_dims:bool -> output:T"
_INTO_INT16 = DENSE.replace("output:T", "output:O")
TFL_INT16_FULLY_CONNECTED = own(
    "TFL_INT16_FULLY_CONNECTED",
    {DENSE: _TYPES, _INTO_INT16: {"T": ("Q8", "Q8S"), "W": ("Q8", "Q8S"), "B": ("I32",), "O": ("Q16S",)}},
    compute_dense, infer_dense, lower=lower_dense, multiply_adds=True)


# -- TRANSPOSE_CONV --------------------------------------------------------------------------------------------------
def transposed_geometry(node):
    """Window of the convolution that this one is the transpose of, for the output shape that is asked for."""
    sizes, filters = node["input"].shape[1:3], node["filter"].shape[1:3]
    wanted = [int(value) for value in node.value("output_shape").reshape(-1)]
    if len(wanted) != 4 or min(wanted) < 1:
        node.fail("output_shape", f"is {wanted}, must be four values above 0")
    strides, heads = [], []
    for axis, name in enumerate(window.AXES):
        stride = node.scalar(f"stride_{name}")
        if stride < 1:
            node.fail(f"stride_{name}", f"is {stride}, must be > 0")
        total = (-(-wanted[axis + 1] // stride) - 1) * stride + filters[axis] - wanted[axis + 1]
        strides.append(stride)
        heads.append(max(0, total // 2) if node.scalar("padding_scheme") == window.SCHEME_SAME else 0)
    return window.Window(tuple(wanted[1:3]), filters, tuple(strides), (1, 1), tuple(heads), sizes)


def infer_transposed(node):
    """The output shape that is asked for."""
    batch, _, _, channels = image_shape(node)
    node.check_rank("filter", 4)
    requantize.check_channel_dim(node, "filter", 0)
    units, _, _, depth = node["filter"].shape
    if depth != channels:
        node.fail("filter", f"dimension 3 is {depth}, must be the input's {channels} channels")
    check_bias(node, units)
    return [(batch, *transposed_geometry(node).input, units)]


def compute_transposed(node, inputs):
    """TRANSPOSE_CONV."""
    image, filter_, bias = _operands(node, inputs)
    return rescaled(node, transpose_conv2d.sums(image, filter_, transposed_geometry(node)), bias)


TRANSPOSED = f"input:T filter:W bias?:B output_shape:I32 {window.IMPLICIT} activation:i32 layout:bool -> output:T"
TFL_INT16_TRANSPOSE_CONV = own("TFL_INT16_TRANSPOSE_CONV", {TRANSPOSED: _TYPES}, compute_transposed, infer_transposed,
                               lower=lower_transposed, multiply_adds=True)


# -- BATCH_MATMUL ----------------------------------------------------------------------------------------------------
def product_shape(node):
    """Shape of the products of input0 and input1, whose batches broadcast."""
    x, y = (list(node[name].shape) for name in ("input0", "input1"))
    if min(len(x), len(y)) < 2:
        node.fail(None, f"takes shapes {x} and {y}, must have rank 2 at least")
    if node.scalar("adj_x"):
        x[-2:] = x[:-3:-1]
    if node.scalar("adj_y"):
        y[-2:] = y[:-3:-1]
    if x[-1] != y[-2]:
        node.fail("input1", f"has {y[-2]} rows, must have one for each of {x[-1]} columns of input0")
    try:
        batches = np.broadcast_shapes(tuple(x[:-2]), tuple(y[:-2]))
    except (ValueError, RuntimeError):  # of more dimensions than numpy has
        node.fail("input1", f"batches {y[:-2]} do not broadcast with {x[:-2]}")
    return (*batches, x[-2], y[-1])


def infer_matmul(node):
    """Batches broadcast; scales have a finite ratio."""
    _matmul_multiplier(node)
    return [product_shape(node)]


def _matmul_multiplier(node):
    return ratio_multiplier(node, quant.conv_multiplier(node["input0"].scale, node["input1"].scale,
                                                        node.outputs[0].scale))


def compute_matmul(node, inputs):
    """Sums of int64, by the product of the scales in float32; LiteRT takes 0 for the scales of channels."""
    x, y = (requantize.centred(node[name], array) for name, array in zip(("input0", "input1"), inputs))
    x = x.swapaxes(-1, -2) if node.scalar("adj_x") else x
    y = y.swapaxes(-1, -2) if node.scalar("adj_y") else y
    return [clamped(node, quant.mbqm_wide((x @ y).astype(np.int64), *_matmul_multiplier(node)))]


TFL_INT16_BATCH_MATMUL = own(
    "TFL_INT16_BATCH_MATMUL", {"input0:T input1:U adj_x:bool adj_y:bool -> output:T":
                               {"T": ("Q16S",), "U": ("Q16S", "Q8S", "PC")}}, compute_matmul, infer_matmul,
)


# -- QUANTIZE, DEQUANTIZE --------------------------------------------------------------------------------------------
def compute_quantize(node, inputs):
    """Quotients of float32 values and scale, rounded half away from zero; NaN gives the lowest code."""
    with np.errstate(all="ignore"):
        steps = np.nan_to_num(quant.round_half_away(inputs[0] / np.float32(node.outputs[0].scale)), nan=_LOW)
    return [np.clip(steps, _LOW, _HIGH).astype(np.int16)]


def compute_dequantize(node, inputs):
    """Codes times scale, rounded once."""
    return [(inputs[0].astype(np.float64) * scale_of(node["input"])).astype(np.float32)]


def _lower_reals(back):
    def lower(node, b):
        source, target = node["input"], node.outputs[0]
        scale = scale_of(source if back else target)
        b.emit(RealsQ16((b.slot(source), b.slot(target)), prod(source.shape), scale, back))
        return None

    return lower


TFL_QUANTIZE_INT16 = own("TFL_QUANTIZE_INT16", {"input:F32 -> output:Q16S": {}}, compute_quantize, same_shape,
                         lower=_lower_reals(False))
TFL_DEQUANTIZE_INT16 = own("TFL_DEQUANTIZE_INT16", {"input:Q16S -> output:F32": {}}, compute_dequantize, same_shape,
                           lower=_lower_reals(True))
