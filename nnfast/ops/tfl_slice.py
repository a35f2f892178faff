"""TFLite's SLICE, STRIDED_SLICE and DYNAMIC_UPDATE_SLICE, for tensors of any rank and type."""

import numpy as np

from .tfl import ANY, INDEXES, is_same_kind, own


# -- SLICE -----------------------------------------------------------------------------------------------------------
def _box(node):
    shape, begin, size = node["input"].shape, node.numbers("begin"), node.numbers("size")
    if not len(begin) == len(size) == len(shape):
        node.fail("begin", f"has {len(begin)} values and size {len(size)}, must have {len(shape)}")
    size = [d - b if s == -1 else s for b, s, d in zip(begin, size, shape)]
    if any(b < 0 or s < 0 or b + s > d for b, s, d in zip(begin, size, shape)):
        node.fail("begin", f"{begin} with size {size} lies outside shape {list(shape)}")
    return begin, size


def infer_slice(node):
    """The sizes; -1: what is left."""
    return [tuple(_box(node)[1])]


def compute_slice(node, inputs):
    """That part."""
    begin, size = _box(node)
    return [np.ascontiguousarray(inputs[0][tuple(slice(b, b + s) for b, s in zip(begin, size))])]


# -- STRIDED_SLICE ---------------------------------------------------------------------------------------------------
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _index(node):
    """What numpy takes as an index."""
    shape = node["input"].shape
    begin, end, strides = (node.numbers(name) for name in ("begin", "end", "strides"))
    masks = [node.scalar(name) for name in MASKS]
    if not len(begin) == len(end) == len(strides):
        node.fail("begin", f"has {len(begin)} values, end {len(end)}, strides {len(strides)}, must have as many")
    if 0 in strides:
        node.fail("strides", f"are {strides}, must not be 0")
    index, taken = [], sum(not (masks[2] | masks[3]) >> k & 1 for k in range(len(begin)))
    if taken > len(shape):
        node.fail("begin", f"has {taken} values, must have at most {len(shape)}")
    axis = 0
    for k, (b, e, s) in enumerate(zip(begin, end, strides)):
        is_begin, is_end, is_ellipsis, is_new, is_shrunk = (mask >> k & 1 for mask in masks)
        if is_ellipsis:
            axis += len(shape) - taken
            index.append(Ellipsis)
        elif is_new:
            index.append(None)
        else:
            if node.scalar("offset") and not is_end:
                e += b
            index.append(_along(node, shape[axis], None if is_begin else b, None if is_end else e, s, is_shrunk))
            axis += 1
    return tuple(index)


def _along(node, size, begin, end, stride, is_shrunk):
    if is_shrunk:
        begin = begin or 0
        if not -size <= begin < size:
            node.fail("begin", f"is {begin}, must be in [{-size}, {size})")
        return begin
    return slice(begin, end, stride)


def _stub(node, name):
    """An array of an input's shape and dtype that takes no memory."""
    return np.broadcast_to(np.zeros((), node[name].dtype), node[name].shape)


def infer_strided(node):
    """As numpy's indexing."""
    return [_stub(node, "input")[_index(node)].shape]


def compute_strided(node, inputs):
    """That part."""
    part = inputs[0][_index(node)]
    return [np.ascontiguousarray(part).reshape(part.shape)]


# -- DYNAMIC_UPDATE_SLICE --------------------------------------------------------------------------------------------
def infer_update(node):
    """Shape of the operand, in which the update fits."""
    shape, update = node["input"].shape, node["update"].shape
    if len(update) != len(shape) or any(u > d for u, d in zip(update, shape)):
        node.fail("update", f"shape is {list(update)}, must fit into {list(shape)}")
    return [shape]


def compute_update(node, inputs):
    """The operand with the update put in; the start moves where it would not fit."""
    result, update = inputs[0].copy(), inputs[1]
    start = [min(max(int(b), 0), d - u) for b, d, u in zip(inputs[2].reshape(-1), result.shape, update.shape)]
    result[tuple(slice(b, b + u) for b, u in zip(start, update.shape))] = update
    return [result]


_TYPES = {"T": ANY, "U": ANY, "I": INDEXES, "J": INDEXES, "K": INDEXES}
TFL_SLICE = own("TFL_SLICE", {"input:T begin:I size:J -> output:U": _TYPES}, compute_slice, infer_slice,
                is_same_kind("input"))
TFL_STRIDED_SLICE = own(
    "TFL_STRIDED_SLICE",
    {f"input:T begin:I end:J strides:K {' '.join(f'{mask}:i32' for mask in MASKS)} offset:bool -> output:U": _TYPES},
    compute_strided, infer_strided, is_same_kind("input"))
TFL_DYNAMIC_UPDATE_SLICE = own(
    "TFL_DYNAMIC_UPDATE_SLICE", {"input:T update:V start:I -> output:U": _TYPES | {"V": ANY}}, compute_update,
    infer_update, is_same_kind("input", "update"))
