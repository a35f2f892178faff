"""MEAN and REDUCE_ALL, _ANY, _MAX, _MIN, _PROD, _SUM over some axes [NN 14.31, 13.11, 15.75]."""

from math import prod

import numpy as np

from .._native.elementwise import ClampF32, Convert, LookupQ8
from .._native.reduction import MOST_TERMS, ReduceF32, ReduceQ8
from ..model import quant
from ..model.types import QUANT_RANGE, OperandType, OperationType, type_name
from .base import OpDef, Signature, is_quant8


def validate(node):
    """Rank up to 4, axes of rank 1."""
    node.check_rank("input", 1, 4)
    node.check_rank("axes", 1)


def axes_of(node):
    """The axes as a sorted tuple without repetitions, all in 0..rank-1."""
    rank, values = len(node["input"].shape), node.value("axes").reshape(-1)
    if values.size == 0:
        node.fail("axes", "has no elements, must have at least one")
    for value in values:
        if not -rank <= value < rank:
            node.fail("axes", f"holds {value}, must be in [{-rank}, {rank})")
    return tuple(sorted({int(value) % rank for value in values}))


def infer(node):
    """Reduced dimensions are removed, or become 1 with keep_dims; [1] if none is left."""
    shape, axes = node["input"].shape, axes_of(node)
    if node.scalar("keep_dims") > 0:
        return [tuple(1 if axis in axes else size for axis, size in enumerate(shape))]
    return [tuple(size for axis, size in enumerate(shape) if axis not in axes) or (1,)]


def compute(node, inputs):
    """Floats in float64, rounded once; 8-bit codes as integers, the quotient cut towards zero as the reference does.

    LiteRT takes the sum of real values in steps of the scale, times a quantized 1 / count, rounded; codes of 0 where
    there is nothing to sum.
    """
    x, axes, dtype = inputs[0], axes_of(node), node.outputs[0].dtype
    (shape,) = infer(node)
    if is_quant8(node["input"]):
        total, count = x.sum(axis=axes, dtype=np.int64), prod(x.shape[axis] for axis in axes)
        if node.is_litert:
            if not count:
                return [np.zeros(shape, dtype)]
            mean = requantized(node, total - count * node["input"].zero_point, mean_multiplier(node, count))
            return [mean.reshape(shape)]
        return [(np.sign(total) * (np.abs(total) // count)).astype(dtype).reshape(shape)]
    with np.errstate(all="ignore"):
        return [x.mean(axis=axes, dtype=np.float64).astype(dtype).reshape(shape)]


def requantized(node, sums, multiplier):
    """Output codes of sums, by (multiplier, exponent)."""
    target = node.outputs[0]
    codes = quant.mbqm(sums, *multiplier) + target.zero_point
    return np.clip(codes, *QUANT_RANGE[target.type]).astype(target.dtype)


def sum_multiplier(node):
    """(multiplier, exponent) from sums of codes to codes of sums."""
    return quant.quantize_multiplier(float(np.float32(node["input"].scale)) / float(np.float32(node.outputs[0].scale)))


def mean_multiplier(node, count):
    """(multiplier, exponent) from the sum of `count` codes to their mean, as LiteRT's reference kernel forms them."""
    multiplier, exponent = sum_multiplier(node)
    shift = min(count.bit_length() - 1, 32, 31 + exponent)
    return (multiplier << shift) // count, exponent - shift


def compute_all(node, inputs):
    """1 where no byte is zero, else 0."""
    return [np.all(inputs[0], axis=axes_of(node)).astype(np.uint8).reshape(infer(node)[0])]


def compute_any(node, inputs):
    """1 where some byte is not zero, else 0."""
    return [np.any(inputs[0], axis=axes_of(node)).astype(np.uint8).reshape(infer(node)[0])]


def compute_max(node, inputs):
    """The largest value, starting from the lowest finite one (so never -inf); NaN is ignored."""
    start = _finite(inputs[0].dtype).min
    return [np.asarray(np.fmax.reduce(inputs[0], axis=axes_of(node), initial=start)).reshape(infer(node)[0])]


def compute_min(node, inputs):
    """The smallest value, starting from the highest finite one (so never inf); NaN is ignored."""
    start = _finite(inputs[0].dtype).max
    return [np.asarray(np.fmin.reduce(inputs[0], axis=axes_of(node), initial=start)).reshape(infer(node)[0])]


def _finite(dtype):
    return np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)


def compute_prod(node, inputs):
    """Product in float64, rounded once; any zero makes it zero, even with infinities or NaN."""
    x, axes = inputs[0], axes_of(node)
    with np.errstate(all="ignore"):
        product = np.where((x == 0).any(axis=axes), 0, x.prod(axis=axes, dtype=np.float64))
        return [product.astype(x.dtype).reshape(infer(node)[0])]


def compute_sum(node, inputs):
    """Sum in float64, rounded once."""
    x = inputs[0]
    with np.errstate(all="ignore"):
        return [x.sum(axis=axes_of(node), dtype=np.float64).astype(x.dtype).reshape(infer(node)[0])]


# -- native --------------------------------------------------------------------------------------------------------
_STEPS = {
    OperationType.MEAN: "mean", OperationType.REDUCE_MAX: "max", OperationType.REDUCE_MIN: "min",
    OperationType.REDUCE_PROD: "prod", OperationType.REDUCE_SUM: "sum",
}


_LARGEST_HALF = float(np.finfo(np.float16).max)
_STARTS = {"max": (-_LARGEST_HALF, np.inf), "min": (-np.inf, _LARGEST_HALF)}
"""Range of float16 results: the start values, which lie further out in float32, are clamped to these."""


def _lower_half(node, b, slots, name, axes):
    """Extremes of float16 computed in float32, with the start values of float16."""
    count, left = prod(node["input"].shape), prod(node.outputs[0].shape)
    wide, found, bounded = b.temp(4 * count), b.temp(4 * left), b.temp(4 * left)
    b.emit(Convert((slots[0], wide), count, narrow=False))
    b.emit(ReduceF32((wide, found), name, node["input"].shape, axes, 1))
    b.emit(ClampF32((found, bounded), left, *_STARTS[name]))
    b.emit(Convert((bounded, slots[1]), left, narrow=True))


def lower(node, b):
    """One step for float32 and 8-bit tensors, whatever the axes."""
    source, axes, name = node["input"], axes_of(node), _STEPS[node.op.type]
    slots, terms = (b.slot(source), b.slot(node.outputs[0])), prod(source.shape[axis] for axis in axes)
    if is_quant8(source):
        if name == "mean" and terms > MOST_TERMS:
            return f"mean of {terms} codes, native up to {MOST_TERMS}"
        signed, scale = source.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED, None
        if name == "mean" and node.is_litert:
            target = node.outputs[0]
            scale = source.zero_point, *mean_multiplier(node, terms), target.zero_point, *QUANT_RANGE[target.type]
        b.emit(ReduceQ8(slots, name, signed, source.shape, axes, scale))
    elif source.type == OperandType.TENSOR_FLOAT32:
        divided = name == "mean"
        b.emit(ReduceF32(slots, "sum" if divided else name, source.shape, axes, terms if divided else 1))
    elif source.type == OperandType.TENSOR_FLOAT16 and name in _STARTS:
        _lower_half(node, b, slots, name, axes)
    else:
        return f"no native kernel for {type_name(source.type)}"
    return None


_TRUTH = np.minimum(np.arange(256), 1).astype(np.uint8)


def lower_logical(node, b):
    """ALL is min(bytes) != 0, ANY is max(bytes) != 0; then convert to 0 or 1."""
    left = prod(node.outputs[0].shape)
    name, found = "min" if node.op.type == OperationType.REDUCE_ALL else "max", b.temp(left)
    b.emit(ReduceQ8((b.slot(node["input"]), found), name, False, node["input"].shape, axes_of(node)))
    b.emit(LookupQ8((found, b.slot(node.outputs[0])), left, _TRUTH))


# -- references ---------------------------------------------------------------------------------------------------
MEAN = OpDef(
    OperationType.MEAN,
    (Signature("input:T axes:I32 keep_dims:i32 -> output:T", ("1.1: F32", "1.1: Q8", "1.2: F16", "1.3: Q8S")),),
    validate=validate, infer=infer, compute=compute, lower=lower, quant="same",
)


def _reduce(type_, sets, compute, lower=None, quant="free"):
    signature = Signature("input:T axes:I32 keep_dims:bool -> output:T", sets)
    return OpDef(type_, (signature,), validate=validate, infer=infer, compute=compute, lower=lower, quant=quant)


_FLOATS, _ORDERED = ("1.2: F16", "1.2: F32"), ("1.2: F16", "1.2: F32", "1.2: Q8", "1.3: Q8S")
REDUCE_ALL = _reduce(OperationType.REDUCE_ALL, ("1.2: B8",), compute_all, lower_logical)
REDUCE_ANY = _reduce(OperationType.REDUCE_ANY, ("1.2: B8",), compute_any, lower_logical)
REDUCE_MAX = _reduce(OperationType.REDUCE_MAX, _ORDERED, compute_max, lower, quant="same")
REDUCE_MIN = _reduce(OperationType.REDUCE_MIN, _ORDERED, compute_min, lower, quant="same")
REDUCE_PROD = _reduce(OperationType.REDUCE_PROD, _FLOATS, compute_prod, lower)
REDUCE_SUM = _reduce(OperationType.REDUCE_SUM, _FLOATS, compute_sum, lower)
