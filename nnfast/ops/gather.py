"""GATHER, EMBEDDING_LOOKUP and HASHTABLE_LOOKUP: rows by number or by key [NN 15.51, 14.7, 14.10]."""

from math import prod

import numpy as np

from .._native.movement import Gather
from ..model.types import OperandType, OperationType
from .base import OpDef, Signature
from .movement import INDEX_BYTES, copy_choice


def _check_range(node, name, indices, count):
    """Check at execution that indices lie in [0, count)."""
    wrong = indices[(indices < 0) | (indices >= count)]
    if wrong.size:
        node.fail_run(name, f"holds {wrong[0]}, must be in [0, {count})")


def lower_picks(node, b, source, axis, name, batches=0):
    """A copy by indices, whose first `batches` dimensions are those of the source.

    Indices that only an execution knows, or that it must refuse, are read as it runs.
    """
    indices, size = node[name].value, source.shape[axis]
    before, after = prod(source.shape[:axis]), prod(source.shape[axis + 1:])
    if indices is None or batches or not 0 <= indices.min(initial=0) <= indices.max(initial=0) < size:
        slots = b.slot(source), b.slot(node[name]), b.slot(node.outputs[0])
        lists, shared = prod(source.shape[:batches]), prod(source.shape[batches:axis])
        b.emit(Gather(slots, lists, shared, (size,), prod(node[name].shape[batches:]), after * source.dtype.itemsize,
                      node[name].dtype.itemsize), declines=True)
        return None
    b.reserve(INDEX_BYTES * indices.size)
    chosen = before, indices.reshape(-1), after
    return copy_choice(b, source, node.outputs[0], chosen, (before, size, after))


# -- GATHER --------------------------------------------------------------------------------------------------------
def validate_gather(node):
    """Neither tensor is a scalar."""
    for name in ("input", "indices"):
        if node[name].shape == ():
            node.fail(name, "rank is 0, must be at least 1")


def infer_gather(node):
    """The shape of `indices` in the place of the axis."""
    shape, axis = node["input"].shape, node.axis()
    return [shape[:axis] + node["indices"].shape + shape[axis + 1:]]


def compute_gather(node, inputs):
    """Copies of the slices that `indices` names."""
    source, _, indices = inputs
    axis = node.axis()
    _check_range(node, "indices", indices, source.shape[axis])
    return [np.take(source, indices, axis)]


def lower_gather(node, b):
    """A copy by indices."""
    return lower_picks(node, b, node["input"], node.axis(), "indices")


GATHER = OpDef(
    OperationType.GATHER,
    (Signature("input:T axis:i32 indices:I32 -> output:T",
               ("1.2: F16", "1.2: F32", "1.2: I32", "1.2: Q8", "1.3: Q8S")),),
    validate=validate_gather, infer=infer_gather, compute=compute_gather, lower=lower_gather, moves=True,
)


# -- EMBEDDING_LOOKUP ----------------------------------------------------------------------------------------------
def validate_embedding(node):
    """Lookups of rank 1, values of rank 2 or more."""
    node.check_rank("lookups", 1)
    _check_rows(node)


def _check_rows(node):
    shape = node["values"].shape
    if shape is not None and len(shape) < 2:
        node.fail("values", f"rank is {len(shape)}, must be at least 2")


def infer_embedding(node):
    """One row per lookup."""
    validate_embedding(node)
    return [node["lookups"].shape + node["values"].shape[1:]]


def compute_embedding(node, inputs):
    """Copies of the rows."""
    lookups, values = inputs
    _check_range(node, "lookups", lookups, values.shape[0])
    return [values[lookups]]


def lower_embedding(node, b):
    """A copy by indices."""
    return lower_picks(node, b, node["values"], 0, "lookups")


EMBEDDING_LOOKUP = OpDef(
    OperationType.EMBEDDING_LOOKUP,
    (Signature("lookups:I32 values:T -> output:T", ("1.0: F32", "1.2: I32", "1.2: Q8", "1.3: F16", "1.3: Q8S")),),
    validate=validate_embedding, infer=infer_embedding, compute=compute_embedding,
    lower=lower_embedding, quant="same",
)


# -- HASHTABLE_LOOKUP ----------------------------------------------------------------------------------------------
def validate_hashtable(node):
    """Lookups and keys of rank 1, values of rank 1 or more [NN 13.17 no. 16]."""
    node.check_rank("lookups", 1)
    node.check_rank("keys", 1)
    if node["values"].shape == ():
        node.fail("values", "rank is 0, must be at least 1")


def infer_hashtable(node):
    """One row and one hit per lookup."""
    validate_hashtable(node)
    lookups, keys, values = (node[name].shape for name in ("lookups", "keys", "values"))
    node.check_elements("keys")
    if keys[0] != values[0]:
        node.fail("keys", f"has {keys[0]} keys, must have one for each of the {values[0]} rows of values")
    return [lookups + values[1:], lookups]


def compute_hashtable(node, inputs):
    """The rows whose keys are found, bytes of zero for the others [NN 13.17 no. 16], and a 1 for each hit."""
    lookups, keys, values = inputs
    places = np.minimum(np.searchsorted(keys, lookups), keys.size - 1)
    hits = keys[places] == lookups
    rows = values[places]
    rows[~hits] = 0
    return [rows, hits.astype(node.outputs[1].dtype)]


HASHTABLE_LOOKUP = OpDef(
    OperationType.HASHTABLE_LOOKUP,
    (Signature("lookups:I32 keys:I32 values:T -> output:T hits:Q8", ("1.0: F32", "1.0: I32", "1.0: Q8")),),
    validate=validate_hashtable, infer=infer_hashtable, compute=compute_hashtable,
    quant=("same", {OperandType.TENSOR_QUANT8_ASYMM: (1.0, 0)}), coupled=False,
)
