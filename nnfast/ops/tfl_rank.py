"""A copy; values of rank 0 and the one-element tensors that stand for them; tensors without elements."""

from math import prod

import numpy as np

from .reshape import lower
from .tfl import ANY, INDEXES, own, same_dtype, same_shape


def _reshaped(dims):
    def infer(node):
        if prod(node["input"].shape) != 1:
            node.fail("input", f"shape is {list(node['input'].shape)}, must have one element")
        return [dims]

    def compute(node, inputs):
        return [inputs[0].reshape(dims).copy()]

    return compute, infer


def _rank(name, dims):
    compute, infer = _reshaped(dims)
    return own(name, {"input:T -> output:U": {"T": ANY, "U": ANY}}, compute, infer, same_dtype("input"), lower=lower)


TFL_RANK_0 = _rank("TFL_RANK_0", ())
TFL_RANK_1 = _rank("TFL_RANK_1", (1,))


def infer_empty(node):
    """The given dimensions, one of which is 0; an input must have these."""
    dims = tuple(node.numbers("dims"))
    if 0 not in dims or min(dims) < 0:
        node.fail("dims", f"are {list(dims)}, must have a 0 and no negative one")
    if node.has("input") and node["input"].shape != dims:
        node.fail("input", f"shape is {list(node['input'].shape)}, must be {list(dims)}")
    return [dims]


def compute_empty(node, inputs):
    """An array without elements."""
    return [np.empty(infer_empty(node)[0], node.outputs[0].dtype)]


TFL_EMPTY = own("TFL_EMPTY", {"dims:I -> output:T": {"I": INDEXES, "T": ANY},
                              "dims:I input:T -> output:T": {"I": INDEXES, "T": ANY}}, compute_empty, infer_empty)


def compute_copy(node, inputs):
    """The input."""
    return [inputs[0].copy()]


TFL_COPY = own("TFL_COPY", {"input:T -> output:T": {"T": ANY}}, compute_copy, same_shape, lower=lower)


def infer_scalars(node):
    """As many scalars as the input has values."""
    if node["input"].shape != (len(node.outputs),):
        node.fail("input", f"shape is {list(node['input'].shape)}, must be [{len(node.outputs)}]")
    return [()] * len(node.outputs)


def compute_scalars(node, inputs):
    """Each value alone."""
    return [value.reshape(()) for value in inputs[0]]


TFL_SCALARS = own("TFL_SCALARS", {"input:I32 -> outputs*:i32": {}}, compute_scalars, infer_scalars)
