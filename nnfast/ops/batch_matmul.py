"""BATCH_MATMUL: products of the matrices in the last two dimensions (ops_a.md B, code 102)."""

import numpy as np

from ..model.quant import conv_multiplier, mbqm, quantize_multiplier
from ..model.types import QUANT_RANGE, OperandType, OperationType
from .base import OpDef, Signature, is_quant8


def validate(node):
    """Ranks 2 to 4."""
    node.check_rank("input0", 2, 4)
    node.check_rank("input1", 2, 4)


def infer(node):
    """[..., rows of x, columns of y], counted after the transpositions; batch dimensions must be equal."""
    validate(node)
    x, y = node["input0"].shape, node["input1"].shape
    if len(x) != len(y):
        node.fail("input1", f"rank is {len(y)}, must be that of input0, {len(x)}")
    if x[:-2] != y[:-2]:
        node.fail("input1", f"batch dimensions are {list(y[:-2])}, must be those of input0, {list(x[:-2])}")
    (rows, inner), (meets, columns) = _matrix(x, node.scalar("adj_x")), _matrix(y, node.scalar("adj_y"))
    if inner != meets:
        node.fail("input1", f"has {meets} rows, must have one for each of {inner} columns of input0")
    if is_quant8(node["input0"]):
        multiplier(node)
    return [x[:-2] + (rows, columns)]


def _matrix(shape, adjoint):
    """(rows, columns) as the product sees them."""
    return shape[:-3:-1] if adjoint else shape[-2:]


def multiplier(node):
    """(multiplier, exponent) from sums of products to output codes."""
    real = conv_multiplier(node["input0"].scale, node["input1"].scale, node.outputs[0].scale)
    # A sum shifted by 32 bits has none left.
    if not real < 2.0**31:
        node.fail(0, f"scale {node.outputs[0].scale:.9g} asks for a multiplier of {real:.9g}, must be below 2**31")
    return quantize_multiplier(real)


def compute(node, inputs):
    """Floats and 8-bit in float64 (8-bit sums are exact there), INT32 wraps."""
    output = node.outputs[0]
    x, y = (_turned(node, array, flag) for array, flag in zip(inputs, ("adj_x", "adj_y")))
    if output.type == OperandType.TENSOR_INT32:
        return [(x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32)]
    with np.errstate(all="ignore"):
        x, y = x.astype(np.float64), y.astype(np.float64)
        if not is_quant8(output):
            return [(x @ y).astype(output.dtype)]
    sums = (x - node["input0"].zero_point) @ (y - node["input1"].zero_point)
    codes = mbqm(sums.astype(np.int64), *multiplier(node)) + output.zero_point
    return [np.clip(codes, *QUANT_RANGE[output.type]).astype(output.dtype)]


def _turned(node, array, flag):
    return array.swapaxes(-1, -2) if node.scalar(flag) else array


BATCH_MATMUL = OpDef(
    OperationType.BATCH_MATMUL,
    (Signature("input0:T input1:T adj_x:bool adj_y:bool -> output:T",
               ("aidl2: F16", "aidl2: F32", "aidl2: Q8S", "aidl2: I32")),),
    validate=validate, infer=infer, compute=compute,
)
