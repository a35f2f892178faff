"""SOFTMAX and LOG_SOFTMAX along one axis [NN 14.25, 13.5, 15.64]."""

from math import prod

import numpy as np

from .._native.reduction import SoftmaxF32, SoftmaxQ8
from ..model.fixedpoint import WORD32, input_radius, multiplier_above_one
from ..model.quant import rdbpot, srdhm
from ..model.types import QUANT_RANGE, OperandType, OperationType, type_name
from .base import OpDef, Signature, is_quant8
from .movement import swap_last

_SETS = ("1.0: F32", "1.0: Q8", "1.2: F16", "1.3: Q8S")
_DIFFERENCE_BITS = 5
_SUM_BITS = 12


def validate(node):
    """Rank up to 4; without an axis input, HAL 1.0 and 1.1 know ranks 2 and 4 only."""
    node.check_rank("input", 1, 4)
    shape = node["input"].shape
    if len(node.inputs) == 2 and shape is not None and len(shape) not in (2, 4):
        node.require("1.2")


def infer(node):
    """Output shape is the input's; beta must be positive and the axis within the rank."""
    beta = node.scalar("beta")
    if not beta > 0:
        node.fail("beta", f"is {beta:g}, must be greater than 0")
    node.axis()
    if is_quant8(node["input"]):
        multiplier(node)
    return [node["input"].shape]


def multiplier(node):
    """(multiplier, left shift) that takes a difference of codes, times beta, to an F5 word."""
    source, beta = node["input"], node.scalar("beta")
    real = min(float(np.float32(beta)) * float(np.float32(source.scale)) * (1 << 31 - _DIFFERENCE_BITS), 2.0**31 - 1)
    found = multiplier_above_one(real)
    if found is None:
        node.fail("beta", f"{beta:g} times the input scale {source.scale:.9g} is too small, must exceed 2**-26")
    return found


def powers(node, difference):
    """e^(difference * beta) as F0 words for int64 differences of codes <= 0; 0 where the standard ignores the term."""
    factor, shift = multiplier(node)
    alive = difference >= -input_radius(_DIFFERENCE_BITS, shift)
    words = srdhm(np.where(alive, difference, 0) << shift, factor)
    return np.where(alive, WORD32.exp_neg(words, _DIFFERENCE_BITS), 0)


def code_powers(node):
    """powers of all differences of 8-bit codes, from 0 down."""
    return powers(node, -np.arange(256, dtype=np.int64))


def fractions(node, x, bits):
    """Softmax of integer codes, the axis last, in steps of 2^-bits."""
    terms = powers(node, x - x.max(axis=-1, keepdims=True))
    total = rdbpot(terms, _SUM_BITS).sum(axis=-1, keepdims=True)
    # Normalize the sum to [1, 2) in F0: leading zeros of a 32-bit word, negative for larger sums.
    zeros = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    fraction = np.where(zeros >= 0, total << np.maximum(zeros, 0), total >> np.maximum(-zeros, 0)) - (1 << 31)
    scale = WORD32.recip1p(fraction)
    return rdbpot(srdhm(scale, terms), _SUM_BITS - zeros + 31 - bits)


def compute(node, inputs):
    """exp((x - max) * beta) / sum: floats in float64 rounded once, 8-bit in fixed point."""
    x, dtype = inputs[0], node.outputs[0].dtype
    if x.size == 0:
        return [np.empty(x.shape, dtype)]
    axis = node.axis()
    if is_quant8(node["input"]):
        codes = np.clip(fractions(node, np.moveaxis(x, axis, -1).astype(np.int64), 8), 0, 255)
        codes += QUANT_RANGE[node.outputs[0].type][0]
        return [np.ascontiguousarray(np.moveaxis(codes, -1, axis).astype(dtype))]
    with np.errstate(all="ignore"):
        x = np.asarray(x, np.float64)
        powers = np.exp((x - x.max(axis=axis, keepdims=True)) * node.scalar("beta"))
        return [(powers / powers.sum(axis=axis, keepdims=True)).astype(dtype)]


def lower(node, b):
    """Rows: float32, or 8-bit with the 256 possible powers in a table. An inner axis is moved to the end and back."""
    source, axis, item = node["input"], node.axis(), node["input"].dtype.itemsize
    ends = slots = b.slot(source), b.slot(node.outputs[0])
    before, n, after = prod(source.shape[:axis]), source.shape[axis], prod(source.shape[axis + 1:])
    rows = before * after if n else 0
    if source.type != OperandType.TENSOR_FLOAT32 and not is_quant8(source):
        return f"no native kernel for {type_name(source.type)}"
    if after != 1:
        slots = b.temp(rows * n * item), b.temp(rows * n * item)
        swap_last(b, (ends[0], slots[0]), before, n, after, item)
    if is_quant8(source):
        signed = source.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED
        b.emit(SoftmaxQ8(slots, signed, rows, n, code_powers(node)))
    else:
        b.emit(SoftmaxF32(slots, rows, n, node.scalar("beta"), node.op.type == OperationType.LOG_SOFTMAX))
    if after != 1:
        swap_last(b, (slots[1], ends[1]), before, after, n, item)
    return None


SOFTMAX = OpDef(
    OperationType.SOFTMAX,
    (
        Signature("input:T beta:fT -> output:T", _SETS),
        Signature("input:T beta:fT axis:i32 -> output:T", _SETS, since="1.2"),
    ),
    validate=validate, infer=infer, compute=compute, lower=lower, zero_sized="any",
    quant={
        OperandType.TENSOR_QUANT8_ASYMM: (1 / 256, 0), OperandType.TENSOR_QUANT8_ASYMM_SIGNED: (1 / 256, -128),
    },
)


# -- LOG_SOFTMAX ---------------------------------------------------------------------------------------------------
def infer_log(node):
    """Output shape is the input's; the axis must be within the rank, beta may have any sign."""
    node.axis()
    return [node["input"].shape]


def compute_log(node, inputs):
    """The logarithm of the softmax, computed directly in float64, rounded once."""
    axis = node.axis()
    with np.errstate(all="ignore"):
        logits = np.asarray(inputs[0], np.float64) * node.scalar("beta")
        logits -= logits.max(axis=axis, keepdims=True)
        total = np.log(np.exp(logits).sum(axis=axis, keepdims=True))
        return [(logits - total).astype(node.outputs[0].dtype)]


LOG_SOFTMAX = OpDef(
    OperationType.LOG_SOFTMAX, (Signature("input:T beta:fT axis:i32 -> output:T", ("1.2: F16", "1.2: F32")),),
    infer=infer_log, compute=compute_log, lower=lower,
)
