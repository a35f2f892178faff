"""TFLite's operations on shapes, for tensors of any rank and type: SHAPE, RESHAPE, TRANSPOSE and their like."""

from math import prod

import numpy as np

from .._native.movement import Concatenate, FillBytes, ReverseSequence
from .movement import MOST_DIMENSIONS, copy_apart, copy_choice, copy_order
from .reshape import lower as no_copy
from .tfl import ANY, INDEXES, MAX_RANK, is_same_kind, own, same_dtype, same_shape


# -- shapes as values ----------------------------------------------------------------------------------------------
def infer_shape(node):
    """One number for each dimension."""
    return [(len(node["input"].shape),)]


def compute_shape(node, inputs):
    """The input's dimensions."""
    return [np.array(inputs[0].shape, node.outputs[0].dtype)]


def infer_rank(node):
    """A single value."""
    return [()]


def compute_rank(node, inputs):
    """The number of dimensions."""
    return [np.array(inputs[0].ndim, node.outputs[0].dtype)]


def compute_zeros(node, inputs):
    """Zeros of the input's shape."""
    return [np.zeros_like(inputs[0])]


def lower_zeros(node, b):
    """One fill: the zeros of every type are bytes of 0."""
    output = node.outputs[0]
    b.emit(FillBytes((b.slot(output),), prod(output.shape) * output.dtype.itemsize, 0))
    return None


TFL_SHAPE = own("TFL_SHAPE", {"input:T -> output:I": {"T": ANY, "I": INDEXES}}, compute_shape, infer_shape,
                of_shapes=True)
TFL_RANK = own("TFL_RANK", {"input:T -> output:I": {"T": ANY, "I": INDEXES}}, compute_rank, infer_rank,
               of_shapes=True)
TFL_ZEROS_LIKE = own("TFL_ZEROS_LIKE", {"input:T -> output:U": {"T": ANY, "U": ANY}}, compute_zeros, same_shape,
                     same_dtype("input"), lower=lower_zeros)


# -- the same elements in another shape ------------------------------------------------------------------------------
def infer_reshape(node):
    """The given dimensions, at most one of which is -1: what is left."""
    dims, count = node.numbers("shape"), prod(node["input"].shape)
    if dims.count(-1) > 1 or min(dims, default=0) < -1 or len(dims) > MAX_RANK:
        node.fail("shape", f"is {dims}, must hold at most {MAX_RANK} sizes, at most one -1 and no other negative")
    known = prod(d for d in dims if d != -1)
    if -1 in dims:
        dims[dims.index(-1)] = count // known if known else 0
    if prod(dims) != count:
        node.fail("shape", f"is {dims}, must have the {count} elements of {list(node['input'].shape)}")
    return [tuple(dims)]


def compute_reshape(node, inputs):
    """The same elements."""
    return [inputs[0].reshape(infer_reshape(node)[0]).copy()]


def infer_squeeze(node):
    """Without the given dimensions, or all of size 1."""
    shape = node["input"].shape
    axes = [a for a, d in enumerate(shape) if d == 1] if not node.has("axes") else \
        [place_of(node, "axes", a, len(shape)) for a in node.numbers("axes")]
    if any(shape[a] != 1 for a in axes):
        node.fail("axes", f"are {axes}, must be dimensions of size 1 of {list(shape)}")
    return [tuple(d for a, d in enumerate(shape) if a not in axes)]


def compute_squeeze(node, inputs):
    """The same elements."""
    return [inputs[0].reshape(infer_squeeze(node)[0]).copy()]


def infer_expand(node):
    """With a dimension of size 1 at the axis."""
    shape = node["input"].shape
    axis = place_of(node, "axis", node.scalar("axis"), len(shape) + 1)
    return [(*shape[:axis], 1, *shape[axis:])]


def compute_expand(node, inputs):
    """The same elements."""
    return [inputs[0].reshape(infer_expand(node)[0]).copy()]


def place_of(node, name, axis, rank):
    """A dimension's number, counted from the front."""
    if not -rank <= axis < rank:
        node.fail(name, f"is {axis}, must be in [{-rank}, {rank})")
    return axis % rank


_SHAPED = {"T": ANY, "I": INDEXES, "U": ANY}
TFL_RESHAPE = own("TFL_RESHAPE", {"input:T shape:I -> output:U": _SHAPED}, compute_reshape, infer_reshape,
                  same_dtype("input"), lower=no_copy)
TFL_SQUEEZE = own("TFL_SQUEEZE", {"input:T axes?:I -> output:U": _SHAPED}, compute_squeeze, infer_squeeze,
                  same_dtype("input"), lower=no_copy)
TFL_EXPAND_DIMS = own("TFL_EXPAND_DIMS", {"input:T axis:I -> output:U": _SHAPED}, compute_expand, infer_expand,
                      same_dtype("input"), lower=no_copy)


# -- elements in another order ---------------------------------------------------------------------------------------
def _order(node):
    order, rank = node.numbers("order"), len(node["input"].shape)
    order = [place_of(node, "order", axis, rank) for axis in order]
    if sorted(order) != list(range(rank)):
        node.fail("order", f"is {order}, must be a permutation of the {rank} dimensions")
    return order


def infer_transpose(node):
    """Dimensions in the given order."""
    shape = node["input"].shape
    return [tuple(shape[axis] for axis in _order(node))]


def compute_transpose(node, inputs):
    """Elements moved accordingly."""
    return [inputs[0].transpose(_order(node)).copy()]


def lower_transpose(node, b):
    """A strided copy in the order of the output."""
    source, order = node["input"], _order(node)
    count = len(merged_order(source.shape, order))
    if count > MOST_DIMENSIONS:
        return f"reorders {count} dimensions, native up to {MOST_DIMENSIONS}"
    copy_order(b, source, node.outputs[0], source.shape, order)
    return None


def merged_order(shape, order):
    """The order with one number for dimensions that follow each other before and after; those of size 1 do not count.
    """
    order = [axis for axis in order if shape[axis] != 1]
    kept = sorted(order)
    return [axis for place, axis in enumerate(order)
            if not place or kept.index(axis) != kept.index(order[place - 1]) + 1]


def infer_reverse(node):
    """Shape of the input; the axes exist, each once."""
    shape, axes = node["input"].shape, node.numbers("axes")
    if len({place_of(node, "axes", axis, len(shape)) for axis in axes}) != len(axes):
        node.fail("axes", f"are {axes}, must be different dimensions")
    return [shape]


def compute_reverse(node, inputs):
    """Every listed dimension the other way round."""
    return [np.array(np.flip(inputs[0], node.numbers("axes")), order="C")]


def lower_reverse(node, b):
    """A copy by indices."""
    source = node["input"]
    axes = {place_of(node, "axes", axis, len(source.shape)) for axis in node.numbers("axes")}
    return copy_choice(b, source, node.outputs[0],
                       [range(size - 1, -1, -1) if axis in axes else size for axis, size in enumerate(source.shape)])


def infer_reverse_sequence(node):
    """Shape of the input; one length for each batch."""
    shape = node["input"].shape
    seq, batch = (place_of(node, name, node.scalar(name), len(shape)) for name in ("seq_axis", "batch_axis"))
    if seq == batch:
        node.fail("batch_axis", f"is {node.scalar('batch_axis')}, must be another dimension than seq_axis")
    if node["lengths"].shape != (shape[batch],):
        node.fail("lengths", f"shape is {list(node['lengths'].shape)}, must be [{shape[batch]}]")
    return [shape]


def compute_reverse_sequence(node, inputs):
    """The first elements of each sequence the other way round."""
    x, lengths = inputs[0], inputs[1]
    seq, batch = (node.scalar(name) % x.ndim for name in ("seq_axis", "batch_axis"))
    wrong = lengths[(lengths < 0) | (lengths > x.shape[seq])]
    if wrong.size:
        node.fail_run("lengths", f"has a {wrong[0]}, must be 0 to {x.shape[seq]}")
    places = np.arange(x.shape[seq])
    picked = np.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    shape = [1] * x.ndim
    shape[batch], shape[seq] = picked.shape
    picked = picked.T if seq < batch else picked
    return [np.take_along_axis(x, picked.reshape(shape), seq)]


def lower_reverse_sequence(node, b):
    """One step, which reads the lengths as it runs."""
    source, lengths = node["input"], node["lengths"]
    rank = len(source.shape)
    slots = b.slot(source), b.slot(lengths), b.slot(node.outputs[0])
    b.emit(ReverseSequence(slots, source.shape, node.scalar("seq_axis") % rank, node.scalar("batch_axis") % rank,
                           source.dtype.itemsize, lengths.dtype.itemsize), declines=True)
    return None


TFL_TRANSPOSE = own("TFL_TRANSPOSE", {"input:T order:I -> output:U": _SHAPED}, compute_transpose, infer_transpose,
                    same_dtype("input"), lower=lower_transpose, moves=True)
TFL_REVERSE_V2 = own("TFL_REVERSE_V2", {"input:T axes:I -> output:U": _SHAPED}, compute_reverse, infer_reverse,
                     same_dtype("input"), lower=lower_reverse, moves=True)
TFL_REVERSE_SEQUENCE = own(
    "TFL_REVERSE_SEQUENCE", {"input:T lengths:I seq_axis:i32 batch_axis:i32 -> output:U": _SHAPED},
    compute_reverse_sequence, infer_reverse_sequence, same_dtype("input"), lower=lower_reverse_sequence)


# -- several tensors and one -----------------------------------------------------------------------------------------
def infer_concatenation(node):
    """Sizes along the axis add up."""
    shapes = [t.shape for t in node.group("inputs")]
    axis = place_of(node, "axis", node.scalar("axis"), len(shapes[0]))
    for nth, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]) or shape[:axis] + shape[axis + 1:] != shapes[0][:axis] + shapes[0][axis + 1:]:
            node.fail("inputs", f"shape {list(shape)} does not go with {list(shapes[0])}", nth)
    return [(*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1:])]


def compute_concatenation(node, inputs):
    """Parts side by side."""
    return [np.concatenate(inputs[:-1], node.scalar("axis"))]


def _side_by_side(node, b, shapes, axis):
    """Emit the copy of inputs, seen in these shapes, next to each other along an axis."""
    item = node.outputs[0].dtype.itemsize
    slots = [b.slot(t) for t in (*node.group("inputs"), node.outputs[0])]
    b.emit(Concatenate(slots, prod(shapes[0][:axis]), [prod(shape[axis:]) * item for shape in shapes],
                       [None] * len(shapes)))


def lower_concatenation(node, b):
    """One step."""
    shapes = [t.shape for t in node.group("inputs")]
    _side_by_side(node, b, shapes, node.scalar("axis") % len(shapes[0]))
    return None


def infer_pack(node):
    """A new dimension for the parts."""
    shape, count = node["inputs"].shape, len(node.group("inputs"))
    for nth, t in enumerate(node.group("inputs")):
        if t.shape != shape:
            node.fail("inputs", f"shape is {list(t.shape)}, must be {list(shape)}", nth)
    axis = place_of(node, "axis", node.scalar("axis"), len(shape) + 1)
    return [(*shape[:axis], count, *shape[axis:])]


def compute_pack(node, inputs):
    """Parts along a new dimension."""
    return [np.stack(inputs[:-1], node.scalar("axis"))]


def lower_pack(node, b):
    """One step."""
    shapes = [t.shape for t in node.group("inputs")]
    _side_by_side(node, b, shapes, node.scalar("axis") % (len(shapes[0]) + 1))
    return None


def infer_unpack(node):
    """Without the dimension, whose size is the number of outputs."""
    shape = node["input"].shape
    axis = place_of(node, "axis", node.scalar("axis"), len(shape))
    if shape[axis] != len(node.outputs):
        node.fail("input", f"shape is {list(shape)}, dimension {axis} must be {len(node.outputs)}")
    return [shape[:axis] + shape[axis + 1:]] * len(node.outputs)


def compute_unpack(node, inputs):
    """Each part alone."""
    axis = node.scalar("axis")
    return [np.array(inputs[0].take(place, axis)) for place in range(len(node.outputs))]


def lower_unpack(node, b):
    """One step for elements, or else a strided copy for each part."""
    shape = node["input"].shape
    axis = node.scalar("axis") % len(shape)
    copy_apart(b, node["input"], node.outputs, axis, [1] * shape[axis])
    return None


def _sizes(node):
    """(axis, size of each part)."""
    shape, count = node["input"].shape, len(node.outputs)
    axis = place_of(node, "axis", node.scalar("axis"), len(shape))
    if not node.has("sizes"):
        if shape[axis] % count:
            node.fail("input", f"shape is {list(shape)}, dimension {axis} must be a multiple of {count}")
        return axis, [shape[axis] // count] * count
    sizes = node.numbers("sizes")
    if sizes.count(-1) == 1:
        place = sizes.index(-1)
        sizes[place] = shape[axis] - sum(sizes) - 1
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != shape[axis]:
        node.fail("sizes", f"are {sizes}, must be {count} that add up to {shape[axis]}")
    return axis, sizes


def infer_split(node):
    """Parts along the axis."""
    (axis, sizes), shape = _sizes(node), node["input"].shape
    return [(*shape[:axis], size, *shape[axis + 1:]) for size in sizes]


def compute_split(node, inputs):
    """Each part."""
    axis, sizes = _sizes(node)
    parts = np.split(inputs[node.place("input")], np.cumsum(sizes)[:-1], axis)
    return [np.ascontiguousarray(part) for part in parts]


def lower_split(node, b):
    """One step for elements, or else a strided copy for each part."""
    copy_apart(b, node["input"], node.outputs, *_sizes(node))
    return None


TFL_CONCATENATION = own("TFL_CONCATENATION", {"inputs*:T axis:i32 -> output:U": {"T": ANY, "U": ANY}},
                        compute_concatenation, infer_concatenation, is_same_kind("inputs"),
                        lower=lower_concatenation, moves=True)
TFL_PACK = own("TFL_PACK", {"inputs*:T axis:i32 -> output:U": {"T": ANY, "U": ANY}}, compute_pack, infer_pack,
               is_same_kind("inputs"), lower=lower_pack, moves=True)
TFL_UNPACK = own("TFL_UNPACK", {"input:T axis:i32 -> outputs*:U": {"T": ANY, "U": ANY}}, compute_unpack, infer_unpack,
                 is_same_kind("input"), lower=lower_unpack, moves=True)
TFL_SPLIT = own("TFL_SPLIT", {"axis:I input:T -> outputs*:U": _SHAPED}, compute_split, infer_split,
                is_same_kind("input"), lower=lower_split, moves=True)
TFL_SPLIT_V = own("TFL_SPLIT_V", {"input:T sizes:J axis:I -> outputs*:U": _SHAPED | {"J": INDEXES}}, compute_split,
                  infer_split, is_same_kind("input"), lower=lower_split, moves=True)
