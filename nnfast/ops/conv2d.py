"""CONV_2D [NN 14.3]."""

from functools import partial
from math import prod

import numpy as np

from .._native import conv
from .._native.movement import IndexedCopy, StridedCopy
from ..model import quant
from ..model.types import OperandType, OperationType
from ..record import record
from . import requantize, window
from .base import OpDef, Tensor, check_activation, forms, is_quant8

TYPE_SETS = (
    "1.0: F32 F32 F32", "1.0: Q8 Q8 I32", "1.2: F16 F16 F16", "1.2: Q8 PC I32", "1.3: Q8S Q8S I32", "1.3: Q8S PC I32",
)
"""Input and output, filter, bias: the type sets of every convolution."""

_SIGNATURES = forms(*window.forms_of("input:T filter:W bias:B", "activation:i32", dilated=True), sets=TYPE_SETS)


def _validate(node):
    node.check_rank("input", 4)
    node.check_rank("filter", 4)
    requantize.check_channel_dim(node, "filter", 0)
    requantize.require_scale_version(node)


def geometry(node):
    """The Window of a CONV_2D whose shapes are known."""
    height, width = window.image_shape(node)[1:3]
    return window.window(node, (height, width), node["filter"].shape[1:3])


def _infer(node):
    batch, _, _, channels = window.image_shape(node)
    units = check_operands(node, channels, f"the input's {channels} channels")
    return [window.output_shape(node, batch, geometry(node).output, units)]


def check_operands(node, depth, rule):
    """Filter [units, fh, fw, depth], bias [units], activation and scales of a convolution; returns the units.

    rule: what the depth of the filter must be, for messages.
    """
    node.check_rank("filter", 4)
    node.check_rank("bias", 1)
    units, _, _, actual = node["filter"].shape
    if actual != depth:
        node.fail("filter", f"dimension 3 is {actual}, must be {rule}")
    if node["bias"].shape[0] != units:
        node.fail("bias", f"has {node['bias'].shape[0]} values, must have one for each of {units} output channels")
    check_activation(node)
    requantize.check_scales(node)
    return units


def sums(image, filter_, win):
    """float64 sums [b, oh, ow, co] of a convolution of [b, h, w, ci] with [co, fh, fw, ci]."""
    total = np.zeros((image.shape[0], *win.output, filter_.shape[0]))
    columns = list(win.taps(1))
    for i, out_rows, rows in win.taps(0):
        for j, out_columns, in_columns in columns:
            total[:, out_rows, out_columns] += image[:, rows, in_columns] @ filter_[:, i, j].T
    return total


@np.errstate(over="ignore", invalid="ignore")
def convolve(node, inputs, total_of):
    """Output of any convolution: total_of(image, filter) gives its float64 sums, all with the channels last."""
    image, filter_, bias = inputs[:3]
    image = window.to_nhwc(node, image)
    if is_quant8(node["input"]):
        image, filter_ = requantize.centred(node["input"], image), requantize.centred(node["filter"], filter_)
        result = requantize.finish_quantized(node, total_of(image, filter_), bias)
    else:
        total = total_of(image.astype(np.float64), filter_.astype(np.float64))
        result = requantize.finish_float(node, total, bias)
    return [window.from_nhwc(node, result)]


def _compute(node, inputs):
    return convolve(node, inputs, lambda image, filter_: sums(image, filter_, geometry(node)))


# -- native --------------------------------------------------------------------------------------------------------
@record(frozen=True, slots=True)
class Placement:
    """Strides, in elements, of inputs and outputs of a step that computes several products or scatters its output.

    pixel, group: distance between input pixels, and between the inputs of groups; out_pixel, out_row, out_image,
    out_group: likewise for the output, which starts at element out_first.
    """

    pixel: int
    out_pixel: int
    out_row: int
    out_image: int
    out_first: int = 0
    groups: int = 1
    group: int = 0
    out_group: int = 0


def refusal(node, padded, b):
    """Why no native kernel runs a convolution, or None. padded: whether windows reach beyond the image."""
    if node.layout_nchw:
        return "layout is NCHW"
    if node["input"].type == OperandType.TENSOR_FLOAT16:
        return "no native kernel for TENSOR_FLOAT16"
    # Kernels multiply the filter by padding zeros, which the reference skips: inf and NaN would differ.
    if padded and node["input"].type == OperandType.TENSOR_FLOAT32 and node["filter"].value is not None \
            and not b.packed_fact([node["filter"]], lambda: all_finite(node["filter"].value)):
        return "filter has infinite or NaN values, and there is padding"
    return None


@np.errstate(over="ignore", invalid="ignore")
def all_finite(values):
    """Whether no value is infinite or NaN."""
    return bool(np.isfinite(np.sum(values)) or np.isfinite(values).all())  # a finite sum has finite terms


def emit_check(node, b, padded):
    """Behind the steps of a convolution: what `refusal` finds of a constant filter, of a computed one."""
    filter_ = node["filter"]
    if padded and filter_.dtype == np.float32 and filter_.value is None:
        slots = [b.slot(tensor) for tensor in (filter_, node["input"], node["bias"], node.outputs[0])]
        b.emit(conv.Finite(slots, prod(filter_.shape)), declines=True)


def _lower(node, b):
    win = geometry(node).lying
    reason = refusal(node, win.is_padded, b)
    if reason is None:
        emit(node, b, Matrix(node["filter"]), win, node["input"].shape[0])
        emit_check(node, b, win.is_padded)
    return reason


@record(frozen=True, slots=True)
class Matrix:
    """The matrix [units, depth of a window] of a product, from weights [units, ..., channels].

    taps: None, or (rows, columns), ranges of those positions of a filter that the product uses; where these are empty,
    a position of zero points. is_turned: the units are the weights' last dimension, and there is one channel.
    joined: (groups that are one product, units of each), of constant weights: a unit has zero points for the channels
    of the others.
    """

    weights: Tensor
    taps: tuple | None = None
    is_turned: bool = False
    joined: tuple = (1, 1)

    @property
    def units(self):
        return self.weights.shape[-1 if self.is_turned else 0]

    @property
    def channels(self):
        return 1 if self.is_turned else self.weights.shape[-1] * self.joined[0]

    @property
    def depth(self):
        if self.taps is None:
            return prod(self.weights.shape) // self.units * self.joined[0]
        return max(1, len(self.taps[0]) * len(self.taps[1])) * self.channels

    def value(self):
        """The array, of constant weights."""
        values = self.weights.value
        if self.is_turned:
            values = values.reshape(-1, self.units).T
        elif self.taps is not None:
            rows, columns = self.taps
            values = values[:, rows][:, :, columns] if rows and columns else self._nothing()
        elif self.joined[0] > 1:
            count, units = self.joined
            places = np.arange(self.units) // units % count
            joined = np.full((self.units, *values.shape[1:3], count, values.shape[3]),
                             requantize.zero_point(self.weights), values.dtype)
            joined[np.arange(self.units), :, :, places] = values
            values = joined
        return np.ascontiguousarray(values.reshape(self.units, -1))

    def _nothing(self):
        return np.full((self.units, self.channels), requantize.zero_point(self.weights), self.weights.dtype)

    def slot(self, b):
        """Slot of the array, of computed weights, or of constant ones for a step that packs."""
        shape, item = self.weights.shape, self.weights.dtype.itemsize
        source, units = b.slot(self.weights), self.units
        if self.is_turned:
            depth = prod(shape) // units
            made = b.temp(prod(shape) * item)
            b.emit(StridedCopy((source, made), (units, depth), (item, item * units), (item * depth, item), item))
            return made
        if self.taps is None:
            return source
        rows, columns = self.taps
        if not (rows and columns):
            return b.const(self._nothing())
        made = b.temp(units * len(rows) * len(columns) * self.channels * item)
        b.emit(IndexedCopy((source, made), shape, (units, rows, columns, self.channels), item))
        return made


def emit(node, b, matrix, win, batch, place=None, target=None):
    """Emit the step of a convolution or FULLY_CONNECTED with a Matrix and a bias, in NHWC.

    place: a Placement for tensors that are not dense. target: slot of the result, that of the node's output if None.
    Matrix and bias are packed now if both are constant.
    """
    source, weights, units, depth = node["input"], matrix.weights, matrix.units, matrix.channels
    groups = 1 if place is None else place.groups
    shape = win, batch, depth, units // groups
    is_computed = weights.value is None or node["bias"].value is None
    target = b.slot(node.outputs[0]) if target is None else target
    if is_quant8(source):
        _emit_quantized(node, b, matrix, shape, groups, place, is_computed, target)
        return
    clamp = quant.activation_float(node.scalar("activation"))
    size = units // groups, prod(win.filter) * depth, groups

    def slots_with(packed):
        return b.slot(source), packed, target

    def constant(make, nbytes, sources=(weights,)):
        return slots_with(b.const(b.packed(sources, np.uint8, make, lambda found: found.nbytes == nbytes)))

    bias = node["bias"].value
    if is_computed:
        packed = b.temp(conv.packed_bytes_conv2d(*size, False))
        b.emit(conv.PackF32((matrix.slot(b), b.slot(node["bias"]), packed), *size))
        b.emit(conv.Conv2dF32(slots_with(packed), *shape, *clamp, place))
    elif conv.narrow_suits(win, batch, depth, shape[3], False, place):
        slots = constant(lambda: np.concatenate([bias, matrix.value().ravel()]).view(np.uint8),
                         4 * units * (size[1] + 1))
        b.emit(conv.Conv2dNarrowF32(slots, *shape, *clamp, place))
    elif place is None and not matrix.is_turned and b.in_bf16(source) and conv.bf16_suits(win, depth, shape[3]):
        slots = constant(lambda: conv.pack_conv2d_bf16(matrix.value(), bias, win, batch, b.threads),
                         conv.packed_bytes_bf16(win, batch, depth, units))
        b.emit(conv.Conv2dBf16(slots, *shape, *clamp))
    elif place is None and matrix.taps is None and not matrix.is_turned \
            and conv.winograd_suits(win, batch, units, depth):
        # To recompute outputs that are not finite; a window that lies has those of the filter's sides exchanged.
        filter_ = np.ascontiguousarray(b.value(weights)).reshape(units, *win.filter, depth)
        nbytes = conv.packed_bytes_winograd(win.filter, units, depth)
        slots = constant(lambda: conv.pack_winograd_f32(filter_), nbytes, ())
        b.emit(conv.Conv2dWinogradF32(slots, win, batch, filter_, np.ascontiguousarray(bias), *clamp))
    else:
        slots = constant(lambda: conv.pack_conv2d_f32(matrix.value(), bias, groups, b.threads),
                         conv.packed_bytes_conv2d(*size, False))
        if place is None and conv.line_suits(win, depth, shape[3]):
            b.emit(conv.Conv2dLineF32(slots, *shape, *clamp))
        else:
            b.emit(conv.Conv2dF32(slots, *shape, *clamp, place))


def _scales(node, count, once):
    """int32 multipliers and exponents of so many units."""
    finish = requantize.requantizer(node)
    scale = np.zeros((2, count), np.int32) if once else (finish.multiplier, finish.exponent)
    return [v if len(v) == count else np.full(count, v, np.int32) for v in scale]


def suiting_patch(b, weights, shape, zero_point, signed):
    """By which of the patches of Winograd's method a layer should run, and its weights allow: the fastest such one, or
    None. shape: (window, batch, channels, units)."""
    def is_exact(patch):
        return conv.patches_are_exact(patch, np.ascontiguousarray(weights.value), zero_point, signed)

    win, batch, channels, units = shape
    return next((patch for patch in conv.winograd_q8_patches(win, batch, units, channels)
                 if patch == 2 or b.packed_fact([weights], partial(is_exact, patch))), None)


def packed_patches(b, weights, shape, patch, zero_point, bias, input_zero_point, scales):
    """Slot of weights for patches. scales(): as _scales makes them."""
    win, _, channels, units = shape

    def pack():
        filter_ = conv.dense_filter(np.ascontiguousarray(weights.value), win, conv.winograd_q8_taps(patch), zero_point)
        return conv.pack_winograd_q8(patch, filter_, bias, zero_point, input_zero_point, *scales())

    return b.const(b.packed([weights], np.uint8, pack,
                            lambda found: conv.fits_winograd_q8(patch, found, units, channels * prod(win.stride))))


def _emit_by_patches(node, b, weights, shape, patch, zero_point, target):
    """A layer of 8-bit codes by Winograd's method."""
    source = node["input"]
    packed = packed_patches(b, weights, shape, patch, zero_point, node["bias"].value, source.zero_point,
                            partial(_scales, node, shape[3], False))
    b.emit(conv.Conv2dWinogradQ8((b.slot(source), packed, target), *shape, source.zero_point, requantize.codes(node),
                                 source.dtype == np.int8, patch))


def emit_grouped(node, b, matrix, win, groups):
    """Emit the step of a grouped convolution of few channels in each group, if there is one; returns whether."""
    source, weights = node["input"], matrix.weights
    (batch, _, _, channels), units = source.shape, matrix.units
    signed = source.dtype == np.int8
    if not is_quant8(source) or weights.value is None or node["bias"].value is None or requantize.rounds_once(node) \
            or requantize.zero_point(weights) != (0 if weights.dtype == np.int8 else 128) \
            or not conv.grouped_q8_suits(groups, channels, units):
        return False

    def pack():
        return conv.pack_grouped_q8(matrix.value(), node["bias"].value, groups, prod(win.filter), source.zero_point,
                                    signed, *_scales(node, units, False))

    packed = b.packed([weights], np.uint8, pack,
                      lambda found: conv.fits_grouped_q8(found, groups, channels, units, prod(win.filter)))
    inputs, item, count = b.slot(source), conv.grouped_q8_item(signed), prod(source.shape)
    if item:
        codes, inputs = inputs, b.temp(count * item)
        b.emit(conv.GroupedInputs((codes, inputs), count, signed))
    b.emit(conv.Conv2dGroupedQ8((inputs, b.const(packed), b.slot(node.outputs[0])), win, batch, channels, units, groups,
                                source.zero_point, requantize.codes(node), signed))
    return True


def _emit_narrow(node, b, matrix, shape, place, target):
    """A layer of 8-bit codes to few output channels, by weights without zero point."""
    source, (win, _, channels, units) = node["input"], shape
    signed = source.dtype == np.int8

    def pack():
        return conv.pack_narrow_q8(matrix.value(), node["bias"].value, win, channels, source.zero_point, signed,
                                   *_scales(node, units, False), place)

    nbytes = conv.packed_bytes_narrow_q8(win, channels, units, place)
    packed = b.packed([matrix.weights], np.uint8, pack, lambda found: conv.fits_narrow_q8(found, units, nbytes))
    b.emit(conv.Conv2dNarrowQ8((b.slot(source), b.const(packed), target), *shape, source.zero_point,
                               requantize.codes(node), signed, place))


def _emit_quantized(node, b, matrix, shape, groups, place, is_computed, target):
    """As emit, for 8-bit codes."""
    source, weights, (win, batch, channels, units) = node["input"], matrix.weights, shape
    zero_point = requantize.zero_point(weights)
    signed, output = source.dtype == np.int8, requantize.codes(node)
    once = requantize.rounds_once(node)
    is_plain = not once and not is_computed and zero_point == (0 if weights.dtype == np.int8 else 128)
    if is_plain and conv.narrow_suits(win, batch, channels, units, True, place):
        _emit_narrow(node, b, matrix, shape, place, target)
        return
    in_place = place is None and is_plain and conv.lines_q8_suits(win, channels, signed)
    if not in_place and place is None and matrix.taps is None and not once and not is_computed and not matrix.is_turned:
        patch = suiting_patch(b, weights, shape, zero_point, signed)
        if patch:
            _emit_by_patches(node, b, weights, shape, patch, zero_point, target)
            return
    blocks = conv.LinesBlocks(win, channels) if in_place else None
    scales = partial(_scales, node, units * groups, once)

    def pack():
        codes = matrix.value()
        if in_place:
            codes = blocks.spread(codes, zero_point)
        return conv.pack_conv2d_q8(codes, node["bias"].value, zero_point, source.zero_point, signed, *scales(), groups,
                                   once)

    depth = blocks.depth if in_place else prod(win.filter) * channels
    if is_computed:
        packed = b.temp(conv.packed_bytes_conv2d(units, depth, groups, True, once))
        b.emit(conv.PackQ8((matrix.slot(b), b.slot(node["bias"]), packed), units, depth, groups,
                           (weights.dtype, zero_point), source.zero_point, signed, *scales(), once))
    else:
        packed = b.const(b.packed([weights], np.uint8, pack,
                                  lambda found: conv.fits_conv2d_q8(found, units, depth, groups, once)))
    slots = b.slot(source), packed, target
    if in_place:
        b.emit(conv.Conv2dLinesQ8(slots, *shape, source.zero_point, output, signed))
        return
    scale = None
    if once:
        scale = b.packed([weights], np.float64, lambda: np.full(units, requantize.real_multiplier(node)),
                         lambda found: len(found) == units)
    b.emit(conv.Conv2dQ8(slots, *shape, (weights.dtype, zero_point), source.zero_point, output, signed, place,
                              scale))


CONV_2D = OpDef(
    OperationType.CONV_2D, _SIGNATURES, validate=_validate, infer=_infer, compute=_compute, lower=_lower,
    zero_sized="batch", multiply_adds=True,
)
