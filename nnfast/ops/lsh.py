"""LSH_PROJECTION: bits of locality sensitive hashes of a tensor [NN 14.15]."""

from math import prod

import numpy as np

from .._native.codec import add_scores
from ..model.types import OperationType
from .base import OpDef, Signature

SPARSE_DEPRECATED, DENSE, SPARSE = 1, 2, 3

PART = 1 << 24
"""Approximate bytes of keys that are hashed between two checks of an execution's limits."""


def validate(node):
    """Hash of rank 2 with at most 32 bits per value."""
    node.check_rank("hash", 2)
    shape = node["hash"].shape
    if shape is not None and shape[1] is not None and shape[1] > 32:
        node.fail("hash", f"dimension 1 is {shape[1]}, must be at most 32 bits")
    if node["input"].shape == ():
        node.fail("input", "rank is 0, must be at least 1")


def infer(node):
    """One value per hash for the sparse types, one per bit for the dense one."""
    validate(node)
    kind = node.check_in("type", (SPARSE_DEPRECATED, DENSE, SPARSE))
    if not node["input"].shape[0]:
        node.fail("input", f"shape is {list(node['input'].shape)}, must have rows")
    count, bits = node["hash"].shape
    if kind != DENSE:
        if node.has("weight"):
            node.fail("weight", f"is given, must be omitted for type {kind}")
        return [(count,)]
    if not node.has("weight"):
        node.fail("weight", f"is omitted, must have a value for type {kind}")
    rows = node["input"].shape[0]
    if node["weight"].shape != (rows,):
        node.fail("weight", f"shape is {list(node['weight'].shape)}, must be [{rows}], one for each row of the input")
    return [(count * bits,)]


def compute(node, inputs):
    """A bit is the sign of the weighted sum of the fingerprints of (seed, row) over all rows, in order."""
    hashes, source, weight, _ = inputs
    kind, count = node.scalar("type"), len(source)
    seeds = hashes.astype("<f4").reshape(-1, 1).view(np.uint8)
    rows = np.ascontiguousarray(source).reshape(count, prod(source.shape[1:])).view(np.uint8)
    weights = np.ones(count) if weight is None else weight.astype(np.float64)
    scores, key = np.zeros(len(seeds)), np.empty(4 + rows.shape[1], np.uint8)
    seeds_together = max(1, min(len(seeds), PART // key.size))
    rows_together = max(1, PART // (key.size * seeds_together))
    for seed in range(0, len(seeds), seeds_together):
        some = slice(seed, seed + seeds_together)
        for row in range(0, count, rows_together):
            node.go_on()
            part = slice(row, row + rows_together)
            add_scores(scores[some], seeds[some], rows[part], weights[part], key)
    scores = scores.reshape(hashes.shape)
    bits = scores > 0
    if kind == DENSE:
        return [bits.reshape(-1).astype(np.int32)]
    width = bits.shape[1]
    values = (bits.astype(np.int64) << np.arange(width - 1, -1, -1)).sum(axis=1)
    if kind == SPARSE:
        values += np.arange(len(values)) << width
    return [values.astype(np.int32)]


LSH_PROJECTION = OpDef(
    OperationType.LSH_PROJECTION,
    (Signature("hash:H input:T weight?:H type:i32 -> output:I32", tuple(
        f"{since}: {hash_type} {name}" for since, hash_type in (("1.0", "F32"), ("1.2", "F16"))
        for name in ("F32", "F16", "I32", "Q8")
    )),),
    validate=validate, infer=infer, compute=compute, coupled=False,
)
