"""TILE: the input repeated along every dimension [NN 15.89]."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature
from .movement import copy_choice


def infer(node):
    """Each dimension times its multiple; a multiple of 0 gives an empty output."""
    shape, multiples = node["input"].shape, node.value("multiples")
    if multiples.shape != (len(shape),):
        node.fail("multiples", f"shape is {list(multiples.shape)}, must be [{len(shape)}]")
    if multiples.min(initial=0) < 0:
        node.fail("multiples", f"holds {multiples.min()}, must not be negative")
    return [tuple(size * multiple for size, multiple in zip(shape, multiples.tolist(), strict=True))]


def compute(node, inputs):
    """Copies side by side."""
    return [np.tile(inputs[0], node.value("multiples"))]


def lower(node, b):
    """A copy by indices."""
    return copy_choice(b, node["input"], node.outputs[0], *infer(node))


TILE = OpDef(
    OperationType.TILE,
    (Signature("input:T multiples:I32 -> output:T", ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),),
    infer=infer, compute=compute, lower=lower, quant="same", moves=True,
)
