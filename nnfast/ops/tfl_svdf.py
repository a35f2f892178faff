"""SVDF of int8 tensors, and of float32 tensors with int8 weights, as LiteRT's reference kernels compute them.

The memory is shifted before a step, and the step's products take the last place of each filter.
"""

import numpy as np

from .._native.recurrent import SvdfQ8
from ..model import quant
from . import recurrent
from .tfl import own, ratio_multiplier
from .tfl_hybrid import asymmetric, symmetric
from .tfl_requantize import RANGES


def infer(node):
    """The state and [batch, units]."""
    for name in ("input", "weights_feature", "weights_time"):
        node.check_rank(name, 2)
    batch, size = node["input"].shape
    filters, memory = node["weights_time"].shape
    rank = node.scalar("rank")
    if rank < 1 or filters % rank:
        node.fail("rank", f"is {rank}, must be > 0 and divide the {filters} filters")
    recurrent.check_shape(node, "weights_feature", (filters, size))
    if node["bias"].present:
        recurrent.check_shape(node, "bias", (filters // rank,))
    recurrent.check_shape(node, "state_in", (batch, memory * filters))
    return [(batch, memory * filters), (batch, filters // rank)]


def _shifted(state, time, newest):
    """[batch, filters, memory]: the state of a step, from that of the step before and the newest products."""
    history = np.roll(state.reshape(len(state), *time.shape), -1, axis=2)
    history[:, :, -1] = newest
    return history


def _multipliers(node):
    """(multiplier, exponent) of feature products and of sums along time, formed in double."""
    scales = [float(np.float32(t.scale)) for t in (*node.inputs[:3], *node.outputs)]
    return tuple(ratio_multiplier(node, real) for real in (scales[0] * scales[1] / scales[3],
                                                           scales[3] * scales[2] / scales[4]))


def _clamped(values, multiplier, target):
    codes = quant.mbqm(values, *multiplier) + target.zero_point
    return np.clip(codes, *RANGES[target.dtype]).astype(target.dtype)


def compute_int8(node, inputs):
    """Two quantized multipliers; the fused activation lies in the output's quantization."""
    x, feature, time, bias, state = (None if a is None else a.astype(np.int64) for a in inputs[:5])
    to_memory, to_output = _multipliers(node)
    memory, target = node.outputs
    sums = (x - node["input"].zero_point) @ feature.T
    history = _shifted(state, time, _clamped(sums, to_memory, memory))
    totals = ((history - memory.zero_point) * time).sum(axis=2).reshape(len(x), -1, node.scalar("rank")).sum(axis=2)
    if node["bias"].present:
        totals = totals + bias
    return [history.reshape(len(x), -1).astype(memory.dtype), _clamped(totals, to_output, target)]


def lower_int8(node, b):
    """One step."""
    (batch, size), (filters, memory), rank = node["input"].shape, node["weights_time"].shape, node.scalar("rank")
    scales, bias = _multipliers(node), node["bias"]
    if max(exponent for _, exponent in scales) > 31 or bias.present and bias.dtype != np.int32:
        return f"no native kernel for multipliers from 2^31 on, or a bias of {bias.dtype}"
    if min(batch, size, filters, memory) == 0:
        return "an operand is empty"
    tensors = [*node.inputs[:3], node["state_in"], *node.outputs, *([bias] if bias.present else [])]
    zeros = [t.zero_point for t in (node["input"], *node.outputs)]
    sizes = batch, size, filters // rank, rank, memory
    b.emit(SvdfQ8([b.slot(t) for t in tensors], sizes, node.outputs[0].dtype.itemsize, scales, zeros))
    return None


TFL_INT8_SVDF = own(
    "TFL_INT8_SVDF",
    {"input:T weights_feature:T weights_time:S bias?:B state_in:S rank:i32 -> state_out:S output:T":
     {"T": ("Q8S",), "S": ("Q16S", "Q8S"), "B": ("I32", "F32")}}, compute_int8, infer, lower=lower_int8,
)


def validate_hybrid(node):
    """The activation is one that LiteRT has."""
    node.check_in("activation", tuple(recurrent.ACTIVATIONS))


def compute_hybrid(node, inputs):
    """Rows are quantized, then the sums of integers scaled; the time weights are floats."""
    x, feature, time, bias, state = inputs[:5]
    codes, steps, zeros = (asymmetric if node.scalar("is_asymmetric") else symmetric)(x)
    sums = ((codes.astype(np.float64) - zeros[:, None]) @ feature.T.astype(np.float64)).astype(np.float32)
    newest = sums * (steps * np.float32(node["weights_feature"].scale))[:, None]
    if not x.any():
        newest = np.zeros_like(newest)
    history = _shifted(state, time, newest)
    weights = time * np.float32(node["weights_time"].scale)
    totals = (history.astype(np.float64) * weights).sum(axis=2).reshape(len(x), -1, node.scalar("rank")).sum(axis=2)
    if node["bias"].present:
        totals = totals + bias
    value = recurrent.ACTIVATIONS[node.scalar("activation")](totals)
    return [history.reshape(len(x), -1), value.astype(np.float32)]


TFL_HYBRID_SVDF = own(
    "TFL_HYBRID_SVDF",
    {"input:T weights_feature:W weights_time:W bias?:B state_in:T rank:i32 activation:i32 is_asymmetric:bool"
     " -> state_out:T output:T": {"T": ("F32",), "W": ("Q8S",), "B": ("F32",)}}, compute_hybrid, infer, validate_hybrid,
)
