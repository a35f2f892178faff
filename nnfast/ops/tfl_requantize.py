"""Operators whose output has another quantization than their input, where NNAPI ties the two, as LiteRT has them."""

from math import inf, prod

import numpy as np

from .._native.elementwise import RESCALED, LookupQ8, PairsQ8, RescaleQ16, obstacle
from .._native.reduction import MOST_TERMS, ReduceQ8
from ..model import quant
from ..model.fixedpoint import inv_sqrt
from ..model.types import QUANT_RANGE, Activation
from . import activation, reduce, resize, tfl_int16_binary, tfl_reduce
from .base import broadcast_shape, check_activation, is_quant8
from .codes import emit_looked_up
from .tfl import ANY, INDEXES, QUANTIZED, own, ratio_multiplier, same_shape

RANGES = {np.dtype(np.int32): (-(1 << 31), (1 << 31) - 1), np.dtype(np.int16): (-(1 << 15), (1 << 15) - 1),
          np.dtype(np.int8): (-128, 127), np.dtype(np.uint8): (0, 255)}
_FAR_ZERO = 1 << 30
"""Zero points up to here can be taken from any code in 32 bits."""


def lower_by_table(compute):
    """lower: 8-bit codes of the output by those of the input."""
    def lower(node, b):
        source, target = node["input"], node.outputs[0]
        if source.dtype.itemsize != 1 or target.dtype.itemsize != 1:
            return f"no native kernel from {source.dtype} to {target.dtype}"
        (table,) = compute(node, [np.arange(256, dtype=np.uint8).view(source.dtype)])
        b.emit(LookupQ8((b.slot(source), b.slot(target)), prod(source.shape), table.view(np.uint8)))
        return None

    return lower


def lower_by_pairs(compute, refused=None):
    """lower: codes of the output by pairs of 8-bit codes, of each of which `compute` gives one.

    refused(node): the code of the second input that it does not take.
    """
    def lower(node, b):
        (x, y), target = node.inputs[:2], node.outputs[0]
        if {x.dtype.itemsize, y.dtype.itemsize, target.dtype.itemsize} != {1}:
            return f"no native kernel from {x.dtype} and {y.dtype} to {target.dtype}"
        if refused is None and emit_looked_up(node, b, compute):
            return None
        reason = obstacle(x.shape, y.shape)
        if reason is not None:
            return reason
        first, second = (np.arange(256, dtype=np.uint8).view(t.dtype) for t in (x, y))
        taken = np.full(256, True) if refused is None else second != refused(node)
        table = np.zeros((256, 256), np.uint8)
        (found,) = compute(node, [first[:, None], second[None, taken], *(t.value for t in node.inputs[2:])])
        table[:, taken] = found.view(np.uint8)
        bad = -1 if taken.all() else int(np.argmin(taken))
        b.emit(PairsQ8((b.slot(x), b.slot(y), b.slot(target)), x.shape, y.shape, table.reshape(-1), bad),
               declines=bad >= 0)
        return None

    return lower


def lower_by_scales(compute, scales_of):
    """lower: as lower_by_table, and of other codes by RescaleQ16.

    scales_of(node): (multiplier, exponent) of values from zero on, the same of values below, and the lowest and highest
    code of the output.
    """
    by_table = lower_by_table(compute)

    def lower(node, b):
        source, target = node["input"], node.outputs[0]
        zeros = node.scalar("zero", source.zero_point), node.scalar("new_zero", target.zero_point)
        dtypes = source.dtype, target.dtype
        if dtypes not in RESCALED or target.dtype == np.int32 and zeros[1]:
            return by_table(node, b)
        above, below, clamp = scales_of(node)
        scales = tfl_int16_binary.fixed(*above), tfl_int16_binary.fixed(*below)
        reason = tfl_int16_binary.shifts_too_far(scales)
        if abs(zeros[1]) > _FAR_ZERO:
            reason = f"zero point is {zeros[1]}, native within {_FAR_ZERO} of 0"
        if reason is None:
            b.emit(RescaleQ16((b.slot(source), b.slot(target)), prod(source.shape), dtypes, *scales, zeros, clamp))
        return reason

    return lower


# -- QUANTIZE --------------------------------------------------------------------------------------------------------
def _check_scales(node):
    scale, new_scale = node.scalar("scale"), node.scalar("new_scale")
    for name in ("scale", "new_scale"):
        if not 0 < node.scalar(name) < inf:
            node.fail(name, f"is {node.scalar(name):g}, must be finite and above 0")
    if not scale / new_scale < 2.0**31:
        node.fail(None, f"changes the scale from {scale:g} to {new_scale:g}, must be by less than 2^31")


def _multiplier(node):
    return ratio_multiplier(node, node.scalar("scale") / node.scalar("new_scale"))


def compute(node, inputs):
    """(x - zero) * scale / new scale + new zero, by a quantized multiplier."""
    target = node.outputs[0]
    codes = quant.mbqm(inputs[0].astype(np.int64) - node.scalar("zero"), *_multiplier(node)) + node.scalar("new_zero")
    return [np.clip(codes, *RANGES[target.dtype]).astype(target.dtype)]


TFL_REQUANTIZE = own(
    "TFL_REQUANTIZE", {"input:T scale:f32 zero:i32 new_scale:f32 new_zero:i32 -> output:U":
                       {"T": ("I32", "I16", *QUANTIZED), "U": ("I32", *QUANTIZED)}},
    compute, same_shape, _check_scales,
    lower=lower_by_scales(compute, lambda node: (_multiplier(node), _multiplier(node), RANGES[node.outputs[0].dtype])),
)


# -- MEAN, SUM, REDUCE_PROD ------------------------------------------------------------------------------------------
def _totals(node, inputs):
    axes = tfl_reduce.axes_of(node)
    count = prod(inputs[0].shape[axis] for axis in axes)
    return inputs[0].sum(axis=axes, dtype=np.int64) - count * node["input"].zero_point, count


def compute_mean(node, inputs):
    """Mean of real values, rounded once more than a sum; codes of 0 where there are none."""
    total, count = _totals(node, inputs)
    if not count:
        return [np.zeros(tfl_reduce.infer(node)[0], node.outputs[0].dtype)]
    return [reduce.requantized(node, total, reduce.mean_multiplier(node, count)).reshape(tfl_reduce.infer(node)[0])]


def compute_sum(node, inputs):
    """Sum of real values; codes of 0 where there are none, as of means."""
    total, count = _totals(node, inputs)
    if not count:
        return [np.zeros(tfl_reduce.infer(node)[0], node.outputs[0].dtype)]
    return [reduce.requantized(node, total, reduce.sum_multiplier(node)).reshape(tfl_reduce.infer(node)[0])]


def _lower_reduction(multiplier_of):
    def lower(node, b):
        source, target, axes = node["input"], node.outputs[0], tfl_reduce.axes_of(node)
        terms = prod(source.shape[axis] for axis in axes)
        if not is_quant8(source) or terms > MOST_TERMS or len(source.shape) > 4 or not axes:
            return f"no native kernel for {source.dtype} of rank {len(source.shape)}, {len(axes)} axes, {terms} terms"
        scale = source.zero_point, *multiplier_of(node, terms), target.zero_point, *QUANT_RANGE[target.type]
        b.emit(ReduceQ8((b.slot(source), b.slot(target)), "mean", source.dtype == np.int8, source.shape, axes, scale))
        return None

    return lower


def _factor(node):
    """(multiplier, exponent) of each step of a product: the scale of the output is spread over the factors."""
    count = prod(node["input"].shape[axis] for axis in tfl_reduce.axes_of(node))
    scale, new_scale = (float(np.float32(t.scale)) for t in (node["input"], node.outputs[0]))
    return ratio_multiplier(node, scale / new_scale ** (1 / max(count, 1)))


def infer_prod(node):
    """As of other reductions; there are factors, and none is scaled by more than 14 bits."""
    shape = node["input"].shape
    result = tfl_reduce.infer(node)
    if 0 in result[0]:
        return result
    if any(shape[axis] == 0 for axis in tfl_reduce.axes_of(node)):
        node.fail("input", f"shape is {list(shape)}, must have elements along the axes")
    if _factor(node)[1] > 14:
        scale, new_scale = node["input"].scale, node.outputs[0].scale
        node.fail("input", f"has scale {scale:.9g}, too large for a product with scale {new_scale:.9g}")
    return result


def compute_prod(node, inputs):
    """Real values multiplied one after the other, the product scaled and rounded each time."""
    axes, scale = tfl_reduce.axes_of(node), _factor(node)
    kept = tuple(axis for axis in range(inputs[0].ndim) if axis not in axes)
    terms = inputs[0].transpose(axes + kept).astype(np.int64) - node["input"].zero_point
    total, *others = terms.reshape(-1, *(inputs[0].shape[axis] for axis in kept))
    for term in others:
        node.go_on()
        total = quant.mbqm_wide(total * term, *scale)
    target = node.outputs[0]
    codes = quant.mbqm_wide(total, *scale) + target.zero_point
    return [np.clip(codes, *RANGES[target.dtype]).astype(target.dtype).reshape(tfl_reduce.infer(node)[0])]


_REDUCTION = {"input:T axes:I keep_dims:i32 -> output:T": {"T": QUANTIZED, "I": INDEXES}}
TFL_REQUANTIZE_PROD = own("TFL_REQUANTIZE_PROD", _REDUCTION, compute_prod, infer_prod)
TFL_REQUANTIZE_MEAN = own("TFL_REQUANTIZE_MEAN", _REDUCTION, compute_mean, tfl_reduce.infer,
                          lower=_lower_reduction(reduce.mean_multiplier))
TFL_REQUANTIZE_SUM = own("TFL_REQUANTIZE_SUM", _REDUCTION, compute_sum, tfl_reduce.infer,
                         lower=_lower_reduction(lambda node, terms: reduce.sum_multiplier(node)))


# -- LEAKY_RELU, RSQRT -----------------------------------------------------------------------------------------------
@np.errstate(over="ignore")
def _leaky_scales(node):
    """Both multipliers are formed in float32; alpha may be negative."""
    source, target = node["input"], node.outputs[0]
    ratio = np.float32(source.scale), np.float32(target.scale), np.float32(node.scalar("alpha"))
    multiplier, exponent = ratio_multiplier(node, abs(float(ratio[0] * ratio[2] / ratio[1])))
    return (ratio_multiplier(node, float(ratio[0] / ratio[1])),
            (-multiplier if ratio[2] < 0 else multiplier, exponent), RANGES[target.dtype])


def compute_leaky_relu(node, inputs):
    """Values below zero times alpha."""
    source, target = node["input"], node.outputs[0]
    above, below, clamp = _leaky_scales(node)
    x = inputs[0].astype(np.int64) - source.zero_point
    codes = np.where(x >= 0, quant.mbqm(x, *above), quant.mbqm(x, *below)) + target.zero_point
    return [np.clip(codes, *clamp).astype(target.dtype)]


TFL_REQUANTIZE_LEAKY_RELU = own(
    "TFL_REQUANTIZE_LEAKY_RELU", {"input:T alpha:f32 -> output:T": {"T": QUANTIZED}}, compute_leaky_relu, same_shape,
    lower=lower_by_scales(compute_leaky_relu, _leaky_scales),
)


def infer_prelu(node):
    """The input's shape, to which the slopes are broadcast."""
    activation.prelu_multipliers(node)
    if broadcast_shape(node, "input", "alpha") != node["input"].shape:
        node.fail("alpha", f"shape is {list(node['alpha'].shape)}, must broadcast to {list(node['input'].shape)}")
    return same_shape(node)


def compute_prelu(node, inputs):
    """PRELU of int16 codes with int8 slopes, with a multiplier for each side."""
    positive, negative = activation.prelu_multipliers(node)
    x, slopes = inputs[0].astype(np.int64), inputs[1].astype(np.int64) - node["alpha"].zero_point
    codes = np.where(x >= 0, quant.mbqm(x, *positive), quant.mbqm(x * slopes, *negative))
    return [np.clip(codes, *RANGES[node.outputs[0].dtype]).astype(node.outputs[0].dtype)]


TFL_INT16_PRELU = own("TFL_INT16_PRELU", {"input:T alpha:A -> output:T": {"T": ("Q16S",), "A": ("Q8S",)}},
                      compute_prelu, infer_prelu)


ZERO_TO_ONE = 152
"""RELU_0_TO_1, which is no fused activation, beside their numbers."""


@np.errstate(over="ignore")
def _relu_scales(node):
    """The multiplier is formed in float32."""
    source, target = node["input"], node.outputs[0]
    multiplier = ratio_multiplier(node, float(np.float32(source.scale) / np.float32(target.scale)))
    quantization, activation = (target.type, target.scale, target.zero_point), node.scalar("activation")
    if activation == ZERO_TO_ONE:
        low, high = (quant.activation_range(code, *quantization) for code in (Activation.RELU, Activation.RELU1))
        return multiplier, multiplier, (low[0], high[1])
    return multiplier, multiplier, quant.activation_range(activation, *quantization)


def compute_relu(node, inputs):
    """RELU, RELU_N1_TO_1 and RELU6, by the number of the fused activation, or RELU_0_TO_1."""
    source, target = node["input"], node.outputs[0]
    multiplier, _, clamp = _relu_scales(node)
    codes = quant.mbqm(inputs[0].astype(np.int64) - source.zero_point, *multiplier) + target.zero_point
    return [np.clip(codes, *clamp).astype(target.dtype)]


TFL_REQUANTIZE_RELU = own("TFL_REQUANTIZE_RELU", {"input:T activation:i32 -> output:T": {"T": QUANTIZED}},
                          compute_relu, same_shape, lower=lower_by_scales(compute_relu, _relu_scales))


@np.errstate(over="ignore")
def _abs_scales(node):
    """The multiplier is formed in float32; 2^30 * 2 keeps a value."""
    source, target = node["input"], node.outputs[0]
    scales, (multiplier, exponent) = np.float32([source.scale, target.scale]), (1 << 30, 1)
    if scales[0] != scales[1]:
        multiplier, exponent = ratio_multiplier(node, float(scales[0] / scales[1]))
    return (multiplier, exponent), (-multiplier, exponent), RANGES[target.dtype]


def compute_abs(node, inputs):
    """The size of values."""
    source, target = node["input"], node.outputs[0]
    multiplier, _, clamp = _abs_scales(node)
    size = quant.mbqm(np.abs(inputs[0].astype(np.int64) - source.zero_point), *multiplier)
    return [np.clip(size + target.zero_point, *clamp).astype(target.dtype)]


TFL_REQUANTIZE_ABS = own("TFL_REQUANTIZE_ABS", {"input:T -> output:T": {"T": ("Q8S", "Q16S")}}, compute_abs, same_shape,
                         lower=lower_by_scales(compute_abs, _abs_scales))


def _product_multiplier(node):
    """The multiplier is formed in float32."""
    first, second, target = (np.float32(t.scale) for t in (node["input0"], node["input1"], *node.outputs))
    with np.errstate(over="ignore"):
        return ratio_multiplier(node, float(first * second / target))


def infer_mul(node):
    """The shape of the broadcast."""
    check_activation(node)
    _product_multiplier(node)
    return [broadcast_shape(node, "input0", "input1")]


def compute_mul(node, inputs):
    """MUL whose output scale is not above the product of the input scales."""
    first, second, target = node["input0"], node["input1"], node.outputs[0]
    x, y = (array.astype(np.int64) - t.zero_point for array, t in zip(inputs, (first, second)))
    codes = quant.mbqm(x * y, *_product_multiplier(node)) + target.zero_point
    clamp = quant.activation_range(node.scalar("activation"), target.type, target.scale, target.zero_point)
    return [np.clip(codes, *clamp).astype(target.dtype)]


TFL_REQUANTIZE_MUL = own("TFL_REQUANTIZE_MUL", {"input0:T input1:T activation:i32 -> output:T": {"T": ("Q8", "Q8S")}},
                         compute_mul, infer_mul,
                         lower=lower_by_pairs(compute_mul))

_RSQRT_SHIFT = 20


def _root_multiplier(node):
    """Of 1 / (root of the input's scale * output's scale), formed in float32."""
    with np.errstate(divide="ignore"):
        steps = np.sqrt(np.float32(node["input"].scale)) * np.float32(node.outputs[0].scale)
        return ratio_multiplier(node, float(np.float32(1) / steps))


def infer_rsqrt(node):
    """The input's shape."""
    _root_multiplier(node)
    return same_shape(node)


def compute_rsqrt(node, inputs):
    """1 / sqrt in fixed point; the largest code where the value is not above zero."""
    source, target = node["input"], node.outputs[0]
    multiplier, exponent = _root_multiplier(node)
    x = inputs[0].astype(np.int64) - source.zero_point
    root, shift = inv_sqrt(np.maximum(x, 1))
    value = quant.mbqm(np.ones_like(x), root, shift + _RSQRT_SHIFT)
    codes = quant.mbqm(value, multiplier, exponent - _RSQRT_SHIFT) + target.zero_point
    low, high = RANGES[target.dtype]
    return [np.where(x > 0, np.clip(codes, low, high), high).astype(target.dtype)]


TFL_REQUANTIZE_RSQRT = own("TFL_REQUANTIZE_RSQRT", {"input:T -> output:T": {"T": QUANTIZED}}, compute_rsqrt,
                           infer_rsqrt, lower=lower_by_table(compute_rsqrt))


# -- RESIZE_BILINEAR -------------------------------------------------------------------------------------------------
TFL_REQUANTIZE_RESIZE_BILINEAR = own(
    "TFL_REQUANTIZE_RESIZE_BILINEAR",
    {"input:T width:i32 height:i32 layout:bool align_corners:bool half_pixel_centers:bool -> output:T":
     {"T": (*QUANTIZED, "I8", "U8", "I16")}}, resize.compute, resize.infer, resize.validate, lower=resize.lower,
)
TFL_RESIZE_NEAREST_NEIGHBOR = own(
    "TFL_RESIZE_NEAREST_NEIGHBOR",
    {"input:T width:i32 height:i32 layout:bool align_corners:bool half_pixel_centers:bool -> output:T":
     {"T": ANY}}, resize.compute_nearest, resize.infer, resize.validate, lower=resize.lower_nearest,
)
