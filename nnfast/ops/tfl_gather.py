"""TFLite's operations that look up or spread elements by index: GATHER, GATHER_ND, SCATTER_ND, segments and others."""

from math import prod

import numpy as np

from .._native.movement import ADDED, Gather, Scatter
from . import gather
from .gather import lower_picks
from .tfl import ANY, FLOATS, INDEXES, MAX_RANK, NUMBERS, dimensions, is_same_kind, own, same_dtype, same_values
from .tfl_shape import place_of

_TYPES = {"T": ANY, "U": ANY, "I": INDEXES, "J": INDEXES, "V": ANY}


def _inside(node, name, indices, size):
    if ((indices < 0) | (indices >= size)).any():
        node.fail_run(name, f"has an index outside [0, {size})")


# -- GATHER ----------------------------------------------------------------------------------------------------------
def _axes(node):
    shape, index = node["input"].shape, node["indices"].shape
    axis = place_of(node, "axis", node.scalar("axis"), len(shape))
    batches = node.scalar("batch_dims")
    batches = batches + len(index) if batches < 0 else batches
    if not 0 <= batches <= min(axis, len(index)) or shape[:batches] != index[:batches]:
        node.fail("batch_dims", f"is {batches}, shapes {list(shape)} and {list(index)} must agree there")
    return axis, batches


def infer_gather(node):
    """The indices' shape in the place of the axis."""
    (axis, batches), shape = _axes(node), node["input"].shape
    return [shape[:axis] + node["indices"].shape[batches:] + shape[axis + 1:]]


def compute_gather(node, inputs):
    """The elements at the indices."""
    (axis, batches), (x, indices) = _axes(node), inputs[:2]
    _inside(node, "indices", indices, x.shape[axis])
    if not batches:
        return [np.take(x, indices, axis)]
    count = prod(x.shape[:batches])
    flat, picks = x.reshape(count, *x.shape[batches:]), indices.reshape(count, *indices.shape[batches:])
    parts = [np.take(part, pick, axis - batches) for part, pick in zip(flat, picks)]
    return [np.stack(parts).reshape(infer_gather(node)[0])]


def lower_gather(node, b):
    """A copy by indices."""
    axis, batches = _axes(node)
    return lower_picks(node, b, node["input"], axis, "indices", batches)


def infer_lookup(node):
    """One row for each index."""
    node.check_rank("values", 1, MAX_RANK)
    return [node["lookups"].shape + node["values"].shape[1:]]


def compute_lookup(node, inputs):
    """Rows of the values."""
    lookups, rows = inputs
    _inside(node, "lookups", lookups, len(rows))
    return [rows[lookups]]


def lower_lookup(node, b):
    """A copy by indices."""
    return lower_picks(node, b, node["values"], 0, "lookups")


TFL_GATHER = own("TFL_GATHER", {"input:T indices:I axis:i32 batch_dims:i32 -> output:U": _TYPES}, compute_gather,
                 infer_gather, is_same_kind("input"), lower=lower_gather, moves=True)
TFL_EMBEDDING_LOOKUP = own("TFL_EMBEDDING_LOOKUP", {"lookups:I values:T -> output:U": _TYPES}, compute_lookup,
                           infer_lookup, same_dtype("values"), lower=lower_lookup)


# -- GATHER_ND, SCATTER_ND -------------------------------------------------------------------------------------------
def _depth(node, shape):
    depth = node["indices"].shape[-1] if node["indices"].shape else 0
    if not node["indices"].shape or depth > len(shape):
        node.fail("indices", f"shape is {list(node['indices'].shape)}, its last size must be at most {len(shape)}")
    return depth


def infer_gather_nd(node):
    """What is left of the input behind the indexed dimensions, for each index."""
    shape = node["input"].shape
    return [node["indices"].shape[:-1] + shape[_depth(node, shape):]]


def compute_gather_nd(node, inputs):
    """The elements or parts at the indices."""
    x, indices = inputs
    parts = [indices[..., k] for k in range(indices.shape[-1])]
    for k, part in enumerate(parts):
        _inside(node, "indices", part, x.shape[k])
    return [x[tuple(parts)] if parts else np.broadcast_to(x, infer_gather_nd(node)[0]).copy()]


def lower_gather_nd(node, b):
    """A copy by tuples of indices, read as it runs."""
    source, indices = node["input"], node["indices"]
    depth = indices.shape[-1]
    slots = b.slot(source), b.slot(indices), b.slot(node.outputs[0])
    b.emit(Gather(slots, 1, 1, source.shape[:depth], prod(indices.shape[:-1]),
                  prod(source.shape[depth:]) * source.dtype.itemsize, indices.dtype.itemsize), declines=True)
    return None


def infer_scatter(node):
    """The given shape."""
    dims = dimensions(node, "shape")
    wanted = node["indices"].shape[:-1] + dims[_depth(node, dims):]
    if node["updates"].shape != wanted:
        node.fail("updates", f"shape is {list(node['updates'].shape)}, must be {list(wanted)}")
    return [tuple(dims)]


def compute_scatter(node, inputs):
    """Zeros to which the updates are added."""
    indices, updates = inputs[:2]
    result = np.zeros(infer_scatter(node)[0], updates.dtype)
    parts = tuple(indices[..., k] for k in range(indices.shape[-1]))
    for k, part in enumerate(parts):
        _inside(node, "indices", part, result.shape[k])
    np.add.at(result, parts, updates)
    return [result.astype(updates.dtype)]


def lower_scatter(node, b):
    """One step, which reads the indices as it runs."""
    indices, updates, output = node["indices"], node["updates"], node.outputs[0]
    if updates.dtype.name not in ADDED:
        return f"no native kernel for {updates.dtype}"
    depth = indices.shape[-1]
    slots = b.slot(indices), b.slot(updates), b.slot(output)
    b.emit(Scatter(slots, output.shape[:depth], prod(indices.shape[:-1]), prod(output.shape[depth:]),
                   updates.dtype.name, indices.dtype.itemsize), declines=True)
    return None


TFL_GATHER_ND = own("TFL_GATHER_ND", {"input:T indices:I -> output:U": _TYPES}, compute_gather_nd, infer_gather_nd,
                    is_same_kind("input"), lower=lower_gather_nd, moves=True)
TFL_SCATTER_ND = own("TFL_SCATTER_ND", {"indices:I updates:T shape:J -> output:U": _TYPES}, compute_scatter,
                     infer_scatter, is_same_kind("updates"), lower=lower_scatter)


# -- segments --------------------------------------------------------------------------------------------------------
_REDUCTIONS = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum}


def _start(kind, dtype):
    """The value of a segment without elements."""
    if kind in ("SUM", "PROD"):
        return kind == "PROD"
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min if kind == "MAX" else limits.max


def _segments(node, inputs, count):
    x, ids = inputs[:2]
    kind = node.op.name.rsplit("_", 1)[-1]
    result = np.full((count, *x.shape[ids.ndim:]), _start(kind, x.dtype), x.dtype)
    picked = ids >= 0
    _inside(node, "ids", ids[picked], count)
    _REDUCTIONS[kind].at(result, ids[picked], x[picked])
    return [result]


def infer_segment(node):
    """One more part than the last id says."""
    ids, shape = node.value("ids"), node["input"].shape
    if ids.ndim != 1 or ids.shape != shape[:1] or (np.diff(ids) < 0).any() or ids.min(initial=0) < 0:
        node.fail("ids", f"must be {shape[:1]} numbers in rising order")
    return [(int(ids[-1]) + 1 if len(ids) else 0, *shape[1:])]


def compute_segment(node, inputs):
    """Sums of the rows with one id."""
    return _segments(node, inputs, infer_segment(node)[0][0])


def infer_unsorted(node):
    """The given number of parts."""
    count, shape, ids = node.scalar("count"), node["input"].shape, node["ids"].shape
    if count < 0 or shape[:len(ids)] != ids:
        node.fail("ids", f"shape is {list(ids)}, must be the start of {list(shape)}; {count} parts")
    return [(count, *shape[len(ids):])]


def compute_unsorted(node, inputs):
    """The reduction of the rows with one id; negative ids are left out."""
    return _segments(node, inputs, node.scalar("count"))


TFL_SEGMENT_SUM = own("TFL_SEGMENT_SUM", {"input:T ids:I -> output:U": _TYPES | {"T": NUMBERS, "U": NUMBERS}},
                      compute_segment, infer_segment, same_dtype("input"))


def _unsorted(kind):
    return own(f"TFL_UNSORTED_SEGMENT_{kind}",
               {"input:T ids:I count:J -> output:U": _TYPES | {"T": NUMBERS, "U": NUMBERS}},
               compute_unsorted, infer_unsorted, same_dtype("input"))


TFL_UNSORTED_SEGMENT_SUM = _unsorted("SUM")
TFL_UNSORTED_SEGMENT_PROD = _unsorted("PROD")
TFL_UNSORTED_SEGMENT_MAX = _unsorted("MAX")
TFL_UNSORTED_SEGMENT_MIN = _unsorted("MIN")


# -- others ----------------------------------------------------------------------------------------------------------
def compute_where(node, inputs):
    """Places of what is not zero, one row each."""
    return [np.argwhere(inputs[0]).astype(node.outputs[0].dtype)]


def compute_unique(node, inputs):
    """Values in the order in which they first appear, and the place of each element's value among them."""
    values, first, places = np.unique(inputs[0].reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return [values[order], rank[places.reshape(-1)].astype(node.outputs[1].dtype)]


def infer_sparse(node):
    """The given shape."""
    node.check_elements("default")
    return [dimensions(node, "shape")]


def compute_sparse(node, inputs):
    """The values at their indices, the default elsewhere."""
    indices, values = inputs[0], inputs[2].reshape(-1)
    result = np.full(infer_sparse(node)[0], node.element("default", inputs[3]))
    rows = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    if rows.shape[1] != result.ndim or len(values) not in (1, len(rows)):
        node.fail_run("indices", f"shape is {list(indices.shape)}, must be {len(values)} rows of {result.ndim}")
    for k in range(result.ndim):
        _inside(node, "indices", rows[:, k], result.shape[k])
    result[tuple(rows.T)] = values
    return [result]


def infer_buckets(node):
    """Shape of the input."""
    node.check_rank("boundaries", 1)
    return [node["input"].shape]


def compute_buckets(node, inputs):
    """Number of boundaries that are not above the value."""
    return [np.searchsorted(inputs[1], inputs[0], "right").astype(np.int32)]


TFL_WHERE = own("TFL_WHERE", {"input:T -> output:I": _TYPES}, compute_where)
TFL_UNIQUE = own("TFL_UNIQUE", {"input:T -> output:U indices:I": _TYPES}, compute_unique, None, same_values)
TFL_SPARSE_TO_DENSE = own("TFL_SPARSE_TO_DENSE", {"indices:I shape:J values:T default:V -> output:U": _TYPES},
                          compute_sparse, infer_sparse, same_dtype("values", "default"))
TFL_BUCKETIZE = own("TFL_BUCKETIZE", {"input:T boundaries:V -> output:I": {"T": NUMBERS, "V": FLOATS, "I": ("I32",)}},
                    compute_buckets, infer_buckets)


# -- EMBEDDING_LOOKUP_SPARSE -----------------------------------------------------------------------------------------
SUM, MEAN, ROOT = 0, 1, 2
"""How rows of one place are combined: their weighted sum, divided by the weights' sum or by the root of their squares'.
"""


def infer_sparse_lookup(node):
    """All dimensions of the sparse tensor but the last one, and those of a row."""
    for name, rank in (("numbers", 1), ("places", 2), ("shape", 1), ("weights", 1)):
        node.check_rank(name, rank)
    node.check_rank("values", 2, 8)
    count, rank = node["numbers"].shape[0], node["shape"].shape[0]
    if node["places"].shape != (count, rank) or node["weights"].shape != (count,) or not rank:
        node.fail("places", f"shape is {list(node['places'].shape)}, must be {[count, rank]}, with as many weights")
    dims = dimensions(node, "shape")
    if not SUM <= node.scalar("combiner") <= ROOT:
        node.fail("combiner", f"is {node.scalar('combiner')}, must be 0 to {ROOT}")
    return [(*dims[:-1], *node["values"].shape[1:])]


def compute_sparse_lookup(node, inputs):
    """Rows by number, those of one place behind each other combined."""
    numbers, places, _, weights, values = inputs[:5]
    (shape,), combiner = infer_sparse_lookup(node), node.scalar("combiner")
    dims = np.array(node.numbers("shape")[:-1], np.int64)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(values):
        node.fail_run("numbers", f"are from {numbers.min()} to {numbers.max()}, must be in [0, {len(values)})")
    inner = places[:, :-1].astype(np.int64)
    if inner.size and not ((inner >= 0) & (inner < dims)).all():
        node.fail_run("places", f"lie outside of {dims.tolist()}")
    strides = np.append(np.cumprod(dims[:0:-1])[::-1], 1)[:len(dims)]
    buckets = inner @ strides
    result = np.zeros((int(np.prod(dims)), *values.shape[1:]), np.float32)
    starts = np.flatnonzero(np.append(True, buckets[1:] != buckets[:-1])) if len(buckets) else []
    for start, stop in zip(starts, [*starts[1:], len(buckets)]):
        node.go_on()
        row, total, squares = result[buckets[start]], np.float32(0), np.float32(0)
        for k in range(start, stop):
            row += values[numbers[k]] * weights[k]
            total, squares = total + weights[k], squares + weights[k] * weights[k]
        if combiner != SUM:
            row /= total if combiner == MEAN else np.sqrt(squares)
    return [result.reshape(shape)]


TFL_EMBEDDING_LOOKUP_SPARSE = own(
    "TFL_EMBEDDING_LOOKUP_SPARSE",
    {"numbers:I places:I shape:I weights:F values:F combiner:i32 -> output:F": {"I": ("I32",), "F": ("F32",)}},
    compute_sparse_lookup, infer_sparse_lookup)


# -- HASHTABLE_LOOKUP ------------------------------------------------------------------------------------------------
def validate_table(node):
    """Lookups and keys of rank 1; rows stay what they are, whatever the quantization of the output."""
    gather.validate_hashtable(node)
    if node["values"].dtype != node.outputs[0].dtype:
        node.fail("values", f"are of {node['values'].dtype}, must be of {node.outputs[0].dtype} as the output")


def infer_table(node):
    """One row and one hit per lookup, among at least one key."""
    if node["keys"].shape == (0,):
        node.fail("keys", "has no keys, must have at least one")
    return gather.infer_hashtable(node)


TFL_HASHTABLE_LOOKUP = own(
    "TFL_HASHTABLE_LOOKUP",
    {"lookups:I keys:I values:T -> output:U hits:H": {"I": ("I32",), "T": ANY, "U": ANY, "H": ("U8", "Q8")}},
    gather.compute_hashtable, infer_table, validate_table)
