"""TFLite's SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND for one or more dimensions, with sizes that may be computed."""

from math import prod

import numpy as np

from .tfl import ANY, INDEXES, is_same_kind, own


def _blocks(node, edges):
    """(block sizes, [before, after] of each blocked dimension)."""
    rank = len(node["input"].shape)
    sizes, table = node.numbers("block"), node.value(edges)
    if not 1 <= len(sizes) < rank or min(sizes) < 1:
        node.fail("block", f"is {sizes}, must be sizes of at least 1 for the dimensions behind the first of {rank}")
    if table.shape != (len(sizes), 2) or table.min() < 0:
        node.fail(edges, f"are {table.reshape(-1).tolist()[:16]}, must be two of at least 0 for each of {len(sizes)}")
    return sizes, table.tolist()


def infer_to_batch(node):
    """Blocks become batches."""
    (sizes, edges), shape = _blocks(node, "paddings"), node["input"].shape
    padded = [low + d + high for d, (low, high) in zip(shape[1:], edges)]
    if any(d % size for d, size in zip(padded, sizes)):
        node.fail("block", f"{sizes} does not divide the padded sizes {padded}")
    return [(shape[0] * prod(sizes), *(d // size for d, size in zip(padded, sizes)), *shape[1 + len(sizes):])]


def compute_to_batch(node, inputs):
    """Every element of a block to a batch of its own."""
    (sizes, edges), count = _blocks(node, "paddings"), len(node.numbers("block"))
    fill = node.outputs[0].zero_point
    x = np.pad(inputs[0], [(0, 0), *edges, *[(0, 0)] * (inputs[0].ndim - 1 - count)], constant_values=fill)
    split = [x.shape[0]]
    for d, size in zip(x.shape[1:], sizes):
        split += [d // size, size]
    x = x.reshape(*split, *x.shape[1 + count:])
    inner, outer = [2 + 2 * k for k in range(count)], [1 + 2 * k for k in range(count)]
    order = [*inner, 0, *outer, *range(1 + 2 * count, x.ndim)]
    return [np.ascontiguousarray(x.transpose(order)).reshape(infer_to_batch(node)[0])]


def infer_to_space(node):
    """Batches become blocks, less the crops."""
    (sizes, edges), shape = _blocks(node, "crops"), node["input"].shape
    if shape[0] % prod(sizes):
        node.fail("block", f"{sizes} does not divide the {shape[0]} batches")
    result = [d * size - low - high for d, size, (low, high) in zip(shape[1:], sizes, edges)]
    if min(result) < 0:
        node.fail("crops", f"{edges} leave nothing of {list(shape)}")
    return [(shape[0] // prod(sizes), *result, *shape[1 + len(sizes):])]


def compute_to_space(node, inputs):
    """Every batch to its place in the blocks."""
    (sizes, edges), x = _blocks(node, "crops"), inputs[0]
    count = len(sizes)
    shape, x = x.shape, x.reshape(*sizes, x.shape[0] // prod(sizes), *x.shape[1:])
    order = [count]
    for k in range(count):
        order += [count + 1 + k, k]
    x = x.transpose([*order, *range(2 * count + 1, x.ndim)])
    whole = x.reshape(x.shape[0], *(d * size for d, size in zip(shape[1:], sizes)), *shape[1 + count:])
    part = tuple(slice(low, d - high) for d, (low, high) in zip(whole.shape[1:], edges))
    return [np.ascontiguousarray(whole[(slice(None), *part)])]


_TYPES = {"T": ANY, "U": ANY, "I": INDEXES, "J": INDEXES}
TFL_SPACE_TO_BATCH_ND = own("TFL_SPACE_TO_BATCH_ND", {"input:T block:I paddings:J -> output:U": _TYPES},
                            compute_to_batch, infer_to_batch, is_same_kind("input"))
TFL_BATCH_TO_SPACE_ND = own("TFL_BATCH_TO_SPACE_ND", {"input:T block:I crops:J -> output:U": _TYPES},
                            compute_to_space, infer_to_space, is_same_kind("input"))
