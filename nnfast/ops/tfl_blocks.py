"""TFLite's SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND for one or more dimensions, with sizes that may be computed."""

from math import prod

import numpy as np

from .._native.movement import FillItems, StridedCopy
from .movement import MOST_DIMENSIONS, dense
from .tfl import ANY, INDEXES, is_same_kind, own

FILLED = 8
"""Most bytes of an element of a native fill."""
MOST_BLOCKED = 2
"""Most blocked dimensions of the native forms: a strided copy walks six."""


def _blocks(node, edges):
    """(block sizes, [before, after] of each blocked dimension)."""
    rank = len(node["input"].shape)
    sizes, table = node.numbers("block"), node.value(edges)
    if not 1 <= len(sizes) < rank or min(sizes) < 1:
        node.fail("block", f"is {sizes}, must be sizes of at least 1 for the dimensions behind the first of {rank}")
    if table.shape != (len(sizes), 2) or table.min() < 0:
        node.fail(edges, f"are {table.reshape(-1).tolist()[:16]}, must be two of at least 0 for each of {len(sizes)}")
    return sizes, table.tolist()


def _obstacle(node, sizes, is_filled):
    """Why there is no native form, or None."""
    rank, dtype = len(node["input"].shape), node["input"].dtype
    if len(sizes) > MOST_BLOCKED or rank > MOST_DIMENSIONS:
        return f"blocks of {len(sizes)} dimensions of {rank}, native up to {MOST_BLOCKED} of {MOST_DIMENSIONS}"
    return f"no native fill for {dtype}" if is_filled and dtype.itemsize > FILLED else None


def _walk(sizes, shape, space, batches):
    """(sizes, steps in space, steps in batches) of a copy between blocks and batches, but for what lies together.

    shape: that of the batches, with those of one block as one; space, batches: bytes along the dimensions of either.
    """
    walked = [(shape[0], space[0], batches[0])]
    for k, size in enumerate(sizes):
        among = shape[0] * prod(sizes[k + 1:]) * batches[0]
        walked += [(shape[1 + k], size * space[1 + k], batches[1 + k]), (size, space[1 + k], among)]
    return zip(*walked)


def _offset(edges, steps):
    """Bytes before what lies inside the edges."""
    return sum(low * step for (low, _), step in zip(edges, steps[1:]))


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


def lower_to_batch(node, b):
    """A strided copy; with paddings it reads a padded copy of the input."""
    (sizes, edges), source, output = _blocks(node, "paddings"), node["input"], node.outputs[0]
    is_padded, item, slot = any(map(any, edges)), source.dtype.itemsize, b.slot(source)
    reason = _obstacle(node, sizes, is_padded)
    if reason is not None:
        return reason
    behind = source.shape[1 + len(sizes):]
    whole = source.shape[0], *(d + sum(pads) for d, pads in zip(source.shape[1:], edges)), *behind
    space = dense(whole, item)
    if is_padded:
        slot = b.temp(prod(whole) * item)
        b.emit(FillItems((slot,), prod(whole), np.asarray(output.zero_point, source.dtype).tobytes()))
        b.emit(StridedCopy((b.slot(source), slot), source.shape, dense(source.shape, item), space, item,
                           _offset(edges, space)))
    shape, from_, to = _walk(sizes, (source.shape[0], *output.shape[1:]), space, dense(output.shape, item))
    b.emit(StridedCopy((slot, b.slot(output)), shape, from_, to, prod(behind) * item))
    return None


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


def lower_to_space(node, b):
    """A strided copy; with crops into a whole, of which the output is a part."""
    (sizes, edges), source, output = _blocks(node, "crops"), node["input"], node.outputs[0]
    reason = _obstacle(node, sizes, False)
    if reason is not None:
        return reason
    is_cropped, item, slot = any(map(any, edges)), source.dtype.itemsize, b.slot(output)
    behind = source.shape[1 + len(sizes):]
    whole = output.shape[0], *(d * size for d, size in zip(source.shape[1:], sizes)), *behind
    space = dense(whole, item)
    if is_cropped:
        slot = b.temp(prod(whole) * item)
    shape, to, from_ = _walk(sizes, (output.shape[0], *source.shape[1:]), space, dense(source.shape, item))
    b.emit(StridedCopy((b.slot(source), slot), shape, from_, to, prod(behind) * item))
    if is_cropped:
        start = 0 if 0 in output.shape else _offset(edges, space)
        b.emit(StridedCopy((slot, b.slot(output)), output.shape, space, dense(output.shape, item), item, 0, start))
    return None


_TYPES = {"T": ANY, "U": ANY, "I": INDEXES, "J": INDEXES}
TFL_SPACE_TO_BATCH_ND = own("TFL_SPACE_TO_BATCH_ND", {"input:T block:I paddings:J -> output:U": _TYPES},
                            compute_to_batch, infer_to_batch, is_same_kind("input"),
                            lower=lower_to_batch, moves=True)
TFL_BATCH_TO_SPACE_ND = own("TFL_BATCH_TO_SPACE_ND", {"input:T block:I crops:J -> output:U": _TYPES},
                            compute_to_space, infer_to_space, is_same_kind("input"),
                            lower=lower_to_space, moves=True)
