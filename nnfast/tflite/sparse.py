"""Converts sparse constants of a file to dense ones.

Levels of a sparse tensor are its dimensions, in the order of `traversal_order`, and behind them those inside blocks. At
every level each entry of the one before has either all positions (dense) or those that its part of the indices names.
"""

from math import prod

import numpy as np

from .schema import DTYPES

SPARSE = 1
"""Format code of a sparse level: stored positions are listed."""


def densified(t, most):
    """Dense array of a sparse FileTensor of at most `most` elements. Raises ValueError if it is damaged."""
    levels, rank = t.sparsity.dim_metadata, len(t.dims)
    order, blocks = (np.asarray(v).tolist() for v in (t.sparsity.traversal_order, t.sparsity.block_map))
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order):
        raise ValueError(f"traversal order {order} does not go with {len(levels)} levels of {rank} dimensions")
    if any(not 0 <= dim < rank for dim in blocks) or len(set(blocks)) != len(blocks):
        raise ValueError(f"blocks of dimensions {blocks}, must be different ones of {rank}")
    if prod(t.dims) > most:
        raise ValueError(f"has {prod(t.dims)} elements, more than the {most} that are left")
    values = t.data.view(DTYPES[t.type])
    sizes = _sizes(t, order, blocks)
    places = _places(levels, [sizes[dim] for dim in order], len(values))
    return _spread(t, order, blocks, sizes, places, values)


def _sizes(t, order, blocks):
    """Size of each dimension in blocks, and of each dimension inside them."""
    rank = len(t.dims)
    inside = [t.sparsity.dim_metadata[order.index(rank + k)].dense_size for k in range(len(blocks))]
    sizes = [*t.dims, *inside]
    for dim, size in zip(blocks, inside):
        if size < 1 or t.dims[dim] % size:
            raise ValueError(f"blocks of {size} do not divide dimension {dim} of {list(t.dims)}")
        sizes[dim] //= size
    return sizes


def _places(levels, sizes, count):
    """[positions of the stored elements at each level]."""
    places, entries = [], 1
    for level, size in zip(levels, sizes):
        if level.format == SPARSE:
            segments, indices = (np.asarray(v, np.int64) for v in (level.segments, level.indices))
            lengths = np.diff(segments)
            if len(segments) != entries + 1 or segments[0] or (lengths < 0).any() or segments[-1] != len(indices) or \
                    ((indices < 0) | (indices >= size)).any():
                raise ValueError(f"a sparse level has {len(segments)} segments of {len(indices)} indices below {size},"
                                 f" must go with {entries} entries")
            places, here = [np.repeat(p, lengths) for p in places], indices
        else:
            if level.dense_size != size:
                raise ValueError(f"a dense level has size {level.dense_size}, must be {size}")
            if entries * size > count:
                raise ValueError(f"levels name more than the {count} elements that are stored")
            places, here = [np.repeat(p, size) for p in places], np.tile(np.arange(size), entries)
        places.append(here)
        entries = len(here)
    if entries != count:
        raise ValueError(f"levels name {entries} elements, {count} are stored")
    return places


def _spread(t, order, blocks, sizes, places, values):
    rank = len(t.dims)
    where = dict(zip(order, places))
    for k, dim in enumerate(blocks):
        where[dim] = where[dim] * sizes[rank + k] + where[rank + k]
    dense = np.zeros(t.dims, values.dtype)
    dense[tuple(where[dim] for dim in range(rank))] = values
    return dense
