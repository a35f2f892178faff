"""TFLite's SLICE, STRIDED_SLICE and DYNAMIC_UPDATE_SLICE, for tensors of any rank and type."""

from math import prod

import numpy as np

from .._native.movement import CopyBytes, PutBox, SetItem
from .movement import MOST_DIMENSIONS, copy_box, copy_choice
from .tfl import ANY, INDEXES, MAX_RANK, is_same_kind, own


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
    return [inputs[0][(*(slice(b, b + s) for b, s in zip(begin, size)), ...)].copy()]


def lower_slice(node, b):
    """A strided copy."""
    begin, size = _box(node)
    return copy_box(b, node["input"], node.outputs[0], begin, size, [1] * len(size))


# -- STRIDED_SLICE ---------------------------------------------------------------------------------------------------
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _index(node):
    """What numpy takes as an index."""
    shape = node["input"].shape
    begin, end, strides = (node.numbers(name) for name in ("begin", "end", "strides"))
    masks = [node.scalar(name) for name in MASKS]
    if not len(begin) == len(end) == len(strides):
        node.fail("begin", f"has {len(begin)} values, end {len(end)}, strides {len(strides)}, must have as many")
    if len(begin) > MAX_RANK:
        node.fail("begin", f"has {len(begin)} values, must have at most {MAX_RANK}")
    if 0 in strides:
        node.fail("strides", f"are {strides}, must not be 0")
    ellipses = [k for k in range(len(begin)) if masks[2] >> k & 1]
    if len(ellipses) > 1:
        node.fail("ellipsis_mask", f"is {masks[2]}, which names the places {ellipses}, must name at most one")
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


def lower_strided(node, b):
    """A strided copy, or one by indices where a stride is negative."""
    source, index = node["input"], [part for part in _index(node) if part is not None]
    place = index.index(Ellipsis) if Ellipsis in index else len(index)
    index[place:place + 1] = [slice(None)] * (len(source.shape) - len(index) + (Ellipsis in index))
    ranges = [range(size)[part] if isinstance(part, slice) else range(part % size, part % size + 1)
              for size, part in zip(source.shape, index, strict=True)]
    if all(places.step > 0 for places in ranges):
        first, stride = [places.start for places in ranges], [places.step for places in ranges]
        return copy_box(b, source, node.outputs[0], first, [len(places) for places in ranges], stride)
    return copy_choice(b, source, node.outputs[0], ranges)


# -- DYNAMIC_UPDATE_SLICE --------------------------------------------------------------------------------------------
def infer_update(node):
    """Shape of the operand, in which the update fits."""
    shape, update = node["input"].shape, node["update"].shape
    if len(update) != len(shape) or any(u > d for u, d in zip(update, shape)):
        node.fail("update", f"shape is {list(update)}, must fit into {list(shape)}")
    if node["start"].shape != (len(shape),):
        node.fail("start", f"shape is {list(node['start'].shape)}, must be [{len(shape)}]")
    return [shape]


def compute_update(node, inputs):
    """The operand with the update put in; the start moves where it would not fit."""
    result, update = inputs[0].copy(), inputs[1]
    start = [min(max(int(b), 0), d - u) for b, d, u in zip(inputs[2].reshape(-1), result.shape, update.shape)]
    result[tuple(slice(b, b + u) for b, u in zip(start, update.shape))] = update
    return [result]


def lower_update(node, b):
    """A copy of the operand, and the update over it."""
    source, update, start, output = node["input"], node["update"], node["start"], node.outputs[0]
    if start.dtype != np.int32:
        return f"no native kernel for a start of {start.dtype}"
    if not 1 <= len(source.shape) <= MOST_DIMENSIONS:
        return f"rank is {len(source.shape)}, native from 1 to {MOST_DIMENSIONS}"
    item = source.dtype.itemsize
    b.emit(CopyBytes((b.slot(source), b.slot(output)), prod(source.shape) * item))
    b.emit(PutBox((b.slot(update), b.slot(start), b.slot(output)), source.shape, update.shape, item))
    return None


# -- an item of a list -----------------------------------------------------------------------------------------------
def infer_item(node):
    """Shape of the list, whose items have the item's."""
    shape, item = node["input"].shape, node["item"].shape
    if not shape or item != (1, *shape[1:]) or node["index"].shape != (1,):
        node.fail("item", f"shape is {list(item)}, must be {[1, *shape[1:]]}, with one index")
    return [shape]


def compute_item(node, inputs):
    """The list with another item at the index."""
    result, (index,) = inputs[0].copy(), inputs[2]
    if not 0 <= index < len(result):
        node.fail_run("index", f"is {index}, must be in [0, {len(result)})")
    result[index] = inputs[1][0]
    return [result]


def lower_item(node, b):
    """One copy."""
    source = node["input"]
    slots = [b.slot(t) for t in (*node.inputs, node.outputs[0])]
    b.emit(SetItem(slots, source.shape[0], prod(source.shape[1:]) * source.dtype.itemsize), declines=True)
    return None


_TYPES = {"T": ANY, "U": ANY, "I": INDEXES, "J": INDEXES, "K": INDEXES}
TFL_SLICE = own("TFL_SLICE", {"input:T begin:I size:J -> output:U": _TYPES}, compute_slice, infer_slice,
                is_same_kind("input"), lower=lower_slice, moves=True)
TFL_STRIDED_SLICE = own(
    "TFL_STRIDED_SLICE",
    {f"input:T begin:I end:J strides:K {' '.join(f'{mask}:i32' for mask in MASKS)} offset:bool -> output:U": _TYPES},
    compute_strided, infer_strided, is_same_kind("input"), lower=lower_strided, moves=True)
TFL_DYNAMIC_UPDATE_SLICE = own(
    "TFL_DYNAMIC_UPDATE_SLICE", {"input:T update:V start:I -> output:U": _TYPES | {"V": ANY}}, compute_update,
    infer_update, is_same_kind("input", "update"), lower=lower_update, moves=True)
TFL_SET_ITEM = own("TFL_SET_ITEM", {"input:T item:U index:I32 -> output:V": {"T": ANY, "U": ANY, "V": ANY}},
                   compute_item, infer_item, is_same_kind("input", "item"), lower=lower_item, moves=True)
