"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION [NN 14.11, 14.13], INSTANCE_NORMALIZATION [NN 15.57]."""

from math import prod

import numpy as np

from .._native.reduction import InstanceNorm, L2Norm, LocalResponse
from ..model.fixedpoint import inv_sqrt
from ..model.quant import mbqm, rdbpot, srdhm
from ..model.types import QUANT_RANGE, OperandType, OperationType, type_name
from . import window
from .base import OpDef, Signature, is_quant8
from .movement import swap_last

_Q8, _Q8S = OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED
_SMALLEST_NORM = 1e-6


# -- rules ---------------------------------------------------------------------------------------------------------
def validate(node):
    """Rank up to 4; without an axis input, HAL 1.0 and 1.1 know rank 4 only."""
    node.check_rank("input", 1, 4)
    shape = node["input"].shape
    if not node.has("axis") and (shape is None or len(shape) != 4):
        node.require("1.2")


def validate_instance(node):
    """Rank 4."""
    node.check_rank("input", 4)


def infer(node):
    """Output shape is the input's; the axis must be within the rank."""
    node.axis()
    return [node["input"].shape]


def infer_lrn(node):
    """As `infer`; the radius must not be negative."""
    radius = node.scalar("radius")
    if radius < 0:
        node.fail("radius", f"is {radius}, must be >= 0")
    return infer(node)


def infer_instance(node):
    """Output shape is the input's."""
    validate_instance(node)
    return [node["input"].shape]


# -- arithmetic ----------------------------------------------------------------------------------------------------
def _l2_codes(node, x, axis):
    """Quantized form. The reference rounds once less for signed codes along the last axis than in all other cases."""
    source, output = node["input"], node.outputs[0]
    centred = x.astype(np.int64) - source.zero_point
    multiplier, exponent = inv_sqrt(np.square(centred).sum(axis=axis, keepdims=True))
    if output.type == _Q8S and axis == x.ndim - 1:
        steps = mbqm(centred, multiplier, exponent + 7)
    else:
        steps = rdbpot(srdhm(128 * centred, multiplier), -exponent)
    return np.clip(steps + output.zero_point, *QUANT_RANGE[output.type]).astype(output.dtype)


def compute_l2(node, inputs):
    """x / sqrt(sum of squares along the axis): floats in float64, rounded once; 8-bit in fixed point."""
    x, axis = inputs[0], node.axis()
    if is_quant8(node["input"]):
        return [_l2_codes(node, x, axis)]
    with np.errstate(all="ignore"):
        x = x.astype(np.float64)
        norm = np.sqrt(np.square(x).sum(axis=axis, keepdims=True))
        return [(x / np.maximum(norm, _SMALLEST_NORM)).astype(node.outputs[0].dtype)]


def _window_sums(x, radius):
    """Sums over [i - radius, i + radius] along axis 0, from sums of 1, 2, 4 ... neighbours, without subtraction."""
    count = len(x)
    radius = min(radius, count - 1)
    blocks = np.pad(x, ((radius, radius),) + ((0, 0),) * (x.ndim - 1))
    total, start, size, left = 0, 0, 1, 2 * radius + 1
    while left:
        if left & 1:
            total = total + blocks[start:start + count]
            start += size
        left >>= 1
        if left:
            blocks = blocks[:-size] + blocks[size:]
            size *= 2
    return total


def compute_lrn(node, inputs):
    """x * (bias + alpha * sum of the squares within radius along the axis) ** -beta, in float64, rounded once."""
    axis = node.axis()
    with np.errstate(all="ignore"):
        x = np.moveaxis(inputs[0].astype(np.float64), axis, 0)
        near = _window_sums(np.square(x), node.scalar("radius"))
        factor = np.power(node.scalar("bias") + node.scalar("alpha") * near, -node.scalar("beta"))
        result = np.moveaxis(x * factor, 0, axis)
        return [np.ascontiguousarray(result, node.outputs[0].dtype)]


def compute_instance(node, inputs):
    """(x - mean) * gamma / sqrt(variance + epsilon) + beta over the pixels of each channel of each image."""
    pixels = (2, 3) if node.layout_nchw else (1, 2)
    with np.errstate(all="ignore"):
        x = inputs[0].astype(np.float64)
        centred = x - x.mean(axis=pixels, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=pixels, keepdims=True) + node.scalar("epsilon"))
        result = centred * node.scalar("gamma") / spread + node.scalar("beta")
        return [result.astype(node.outputs[0].dtype)]


# -- native --------------------------------------------------------------------------------------------------------
_F32 = OperandType.TENSOR_FLOAT32
_TYPES = {_F32: "f32", _Q8: "qu8", _Q8S: "qs8"}


def _lower_rows(node, b, step):
    """Emit step(slots, rows, n) over the axis; an inner axis is moved to the end and back."""
    source, axis, item = node["input"], node.axis(), node["input"].dtype.itemsize
    ends = slots = b.slot(source), b.slot(node.outputs[0])
    before, n, after = prod(source.shape[:axis]), source.shape[axis], prod(source.shape[axis + 1:])
    size = before * n * after * item
    if after != 1:
        slots = b.temp(size), b.temp(size)
        swap_last(b, (ends[0], slots[0]), before, n, after, item)
    b.emit(step(slots, before * after, n))
    if after != 1:
        swap_last(b, (slots[1], ends[1]), before, after, n, item)


def lower_l2(node, b):
    """Rows of floats or codes."""
    source = node["input"]
    if source.type not in _TYPES:
        return f"no native kernel for {type_name(source.type)}"
    once = source.type == _Q8S and node.axis() == len(source.shape) - 1
    _lower_rows(node, b, lambda slots, rows, n: L2Norm(slots, _TYPES[source.type], rows, n, source.zero_point, once))
    return None


def lower_lrn(node, b):
    """Rows of float32."""
    if node["input"].type != _F32:
        return f"no native kernel for {type_name(node['input'].type)}"
    scalars = [node.scalar(name) for name in ("radius", "bias", "alpha", "beta")]
    _lower_rows(node, b, lambda slots, rows, n: LocalResponse(slots, rows, n, *scalars))
    return None


def lower_instance(node, b):
    """float32 in either layout."""
    source = node["input"]
    if source.type != _F32:
        return f"no native kernel for {type_name(source.type)}"
    images, height, width, channels = window.image_shape(node)
    scalars = [node.scalar(name) for name in ("gamma", "beta", "epsilon")]
    b.emit(InstanceNorm((b.slot(source), b.slot(node.outputs[0])), node.layout_nchw, images, height * width, channels,
                        *scalars))
    return None


# -- references ---------------------------------------------------------------------------------------------------
_L2_SETS = ("1.0: F32", "1.2: F16", "1.2: Q8", "1.3: Q8S")
_LRN = "input:T radius:i32 bias:fT alpha:fT beta:fT"

L2_NORMALIZATION = OpDef(
    OperationType.L2_NORMALIZATION,
    (Signature("input:T -> output:T", _L2_SETS), Signature("input:T axis:i32 -> output:T", _L2_SETS, since="1.2")),
    validate=validate, infer=infer, compute=compute_l2, lower=lower_l2,
    quant={_Q8: (1 / 128, 128), _Q8S: (1 / 128, 0)},
)
LOCAL_RESPONSE_NORMALIZATION = OpDef(
    OperationType.LOCAL_RESPONSE_NORMALIZATION,
    (
        Signature(f"{_LRN} -> output:T", ("1.0: F32", "1.2: F16")),
        Signature(f"{_LRN} axis:i32 -> output:T", ("1.0: F32", "1.2: F16"), since="1.2"),
    ),
    validate=validate, infer=infer_lrn, compute=compute_lrn, lower=lower_lrn,
)
INSTANCE_NORMALIZATION = OpDef(
    OperationType.INSTANCE_NORMALIZATION,
    (Signature("input:T gamma:fT beta:fT epsilon:fT layout:bool -> output:T", ("1.2: F16", "1.2: F32")),),
    validate=validate_instance, infer=infer_instance, compute=compute_instance, lower=lower_instance,
)
