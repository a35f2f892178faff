"""SVDF [NN 14.27]: a fully connected layer over time, its filters factored into feature and time weights."""

import numpy as np

from .._native.recurrent import SvdfF32
from ..model.types import OperandType, OperationType, type_name
from . import recurrent
from .base import OpDef, Signature

_SIGNATURES = (
    Signature(
        "input:T weights_feature:T weights_time:T bias?:T state_in:T rank:i32 activation:i32 -> state_out:T output:T",
        ("1.0: F32", "1.2: F16"),
    ),
)


def _infer(node):
    for name in ("input", "weights_feature", "weights_time"):
        node.check_rank(name, 2)
    batch, size = node["input"].shape
    filters, memory = node["weights_time"].shape
    rank = node.scalar("rank")
    if rank < 1 or filters % rank:
        node.fail("rank", f"is {rank}, must be > 0 and divide the {filters} filters")
    units = filters // rank
    recurrent.check_shape(node, "weights_feature", (filters, size))
    if node.has("bias"):
        recurrent.check_shape(node, "bias", (units,))
    recurrent.check_shape(node, "state_in", (batch, memory * filters))
    node.check_in("activation", (0, 1, 2, 3, 4, 6))
    return [(batch, memory * filters), (batch, units)]


@np.errstate(over="ignore", invalid="ignore")
def _compute(node, inputs):
    data, feature, time, bias, state = (None if a is None else a.astype(np.float64) for a in inputs[:5])
    batch, (filters, memory) = data.shape[0], time.shape
    history = state.reshape(batch, filters, memory)
    history[:, :, -1] = data @ feature.T
    sums = np.einsum("bfm,fm->bf", history, time).reshape(batch, -1, node.scalar("rank")).sum(axis=2)
    if bias is not None:
        sums = sums + bias
    output = recurrent.ACTIVATIONS[node.scalar("activation")](sums)
    # Shift out the oldest value; the last place is for the next step.
    state = np.concatenate([history[:, :, 1:], np.zeros((batch, filters, 1))], axis=2)
    return [array.reshape(batch, -1).astype(target.dtype) for array, target in zip((state, output), node.outputs)]


def _lower(node, b):
    source = node["input"]
    if source.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(source.type)}"
    (batch, size), (filters, memory), rank = source.shape, node["weights_time"].shape, node.scalar("rank")
    state_out, output = node.outputs
    tensors = [source, node["weights_feature"], node["weights_time"], node["state_in"], state_out, output]
    slots = [*(b.slot(tensor) for tensor in tensors), b.temp(4 * batch * filters)]
    if node.has("bias"):
        slots.append(b.slot(node["bias"]))
    b.emit(SvdfF32(slots, (batch, size, filters // rank, rank, memory), *recurrent.curve_and_clamp(node)))
    return None


SVDF = OpDef(OperationType.SVDF, _SIGNATURES, infer=_infer, compute=_compute, lower=_lower, multiply_adds=True)
