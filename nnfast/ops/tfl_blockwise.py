"""FULLY_CONNECTED of float32 tensors with weights of 4 bits that have a scale for each block of a unit's weights.

LiteRT quantizes rows of the input at run time, as for int8 weights, multiplies integers in blocks, and scales the sums
of each.
"""

from math import prod

import numpy as np

from .._native import conv
from ..model.quant import activation_float
from .tfl import own
from .tfl_hybrid import asymmetric, emit_codes, finished, symmetric
from .tfl_int16 import DENSE, infer_dense

LOWEST, HIGHEST = -8, 7


def _validate(node):
    scales, weights = node["scales"], node["weights"]
    node.check_rank("weights", 2)
    node.check_rank("scales", 2)
    if weights.value is not None and weights.value.size and \
            not LOWEST <= weights.value.min() <= weights.value.max() <= HIGHEST:
        node.fail("weights", f"are from {weights.value.min()} to {weights.value.max()}, must be of 4 bits")
    if weights.value is None or scales.value is None:
        node.fail("weights", "and their scales must be constants")


def infer(node):
    """As FULLY_CONNECTED; blocks divide the weights of a unit."""
    (units, size), (rows, blocks) = node["weights"].shape, node["scales"].shape
    if rows != units or blocks < 1 or size % blocks or size == 0:
        node.fail("scales", f"have shape {[rows, blocks]}, must be [{units}, a number that divides {size}]")
    return infer_dense(node)


def compute(node, inputs):
    """The sums of blocks are scaled and added one after the other in float32, then scaled by the step of the row."""
    weights, scales = inputs[1], inputs[2]
    (shape,), (units, blocks) = infer(node), scales.shape
    codes, steps, zeros = (asymmetric if node.scalar("is_asymmetric") else symmetric)(
        inputs[0].reshape(-1, weights.shape[1]))
    centred = (codes.astype(np.float64) - zeros[:, None]).reshape(len(codes), blocks, -1)
    weights = weights.reshape(units, blocks, -1).astype(np.float64)
    total = np.zeros((len(codes), units), np.float32)
    for block in range(blocks):
        sums = centred[:, block] @ weights[:, block].T
        total += sums.astype(np.float32) * scales[:, block]
    return finished(node, (steps[:, None] * total).reshape(shape), inputs[3] if node["bias"].present else None)


def lower(node, b):
    """Codes of the input's rows, then products with packed weights."""
    weights, scales, count = node["weights"], node["scales"], prod(node["input"].shape)
    (units, size), blocks = weights.shape, scales.shape[1]
    block, rows = size // blocks, count // size
    if block % conv.BLOCKWISE_GROUP:
        return f"blocks of {block}, native multiples of {conv.BLOCKWISE_GROUP}"
    if count == 0 or units == 0:
        return "the input or the output is empty"
    codes, made = emit_codes(node, b, rows, node.scalar("is_asymmetric"))
    nbytes = conv.packed_bytes_blockwise(units, blocks, block)
    packed = b.const(b.packed([weights, scales], np.uint8, lambda: conv.pack_blockwise(weights.value, scales.value),
                              lambda found: found.nbytes == nbytes))
    bias = b.slot(node["bias"]) if node.has("bias") else b.const(np.zeros(units, np.float32))
    b.emit(conv.BlockwiseQ8((codes, made, packed, bias, b.slot(node.outputs[0])), rows, units, blocks, block,
                            *activation_float(node.scalar("activation", 0))))
    return None


TFL_BLOCKWISE_FULLY_CONNECTED = own(
    "TFL_BLOCKWISE_FULLY_CONNECTED",
    {DENSE.replace("weights:W", "weights:W scales:T").replace(" ->", " is_asymmetric:bool ->"):
     {"T": ("F32",), "W": ("I8",), "B": ("F32",)}}, compute, infer, _validate, lower=lower,
)
