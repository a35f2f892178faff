"""STABLEHLO_GATHER and STABLEHLO_SCATTER: slices at computed places."""

from math import prod

import numpy as np

from .tfl import ANY, INDEXES, own, same_dtype

_TYPES = dict.fromkeys("TUV", ANY) | {"I": INDEXES, "A": ("I32",), "B": ("I32",), "C": ("I32",), "D": ("I32",)}


def _axes(node, name, rank):
    """Dimensions in rising or any order, each once."""
    axes = node.numbers(name) if node[name].present else []
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        node.fail(name, f"is {axes}, must be different dimensions below {rank}")
    return axes


def _vector_dim(node, rank):
    """The dimension of the indices along which one place lies; their rank where each is a place of one number."""
    dim = node.scalar("vector_dim")
    if not 0 <= dim <= rank:
        node.fail("vector_dim", f"is {dim}, must be in [0, {rank}]")
    return dim


def _places(node, indices, rank, index_map):
    """Array [..., rank] of the first element of each slice."""
    dim = _vector_dim(node, indices.ndim)
    indices = np.moveaxis(indices, dim, -1) if dim < indices.ndim else indices[..., None]
    result = np.zeros((*indices.shape[:-1], rank), np.int64)
    result[..., index_map] = indices
    return result


def _index_map(node, rank):
    shape = node["indices"].shape
    index_map, dim = _axes(node, "index_map", rank), _vector_dim(node, len(shape))
    size = shape[dim] if dim < len(shape) else 1
    if len(index_map) != size:
        node.fail("index_map", f"is {index_map}, must have {size} dimensions")
    return index_map, shape[:dim] + shape[dim + 1:]


def _grid(places, sizes):
    """A tuple of indices [places, *sizes] for each dimension of places [n, rank]."""
    grids = np.meshgrid(*map(np.arange, sizes), indexing="ij", sparse=True)
    return tuple(places[:, k].reshape(-1, *[1] * len(sizes)) + grid for k, grid in enumerate(grids))


def _merged(batch, window, window_dims):
    """Shape of batch and window dimensions, the window's at window_dims."""
    rest, inner = iter(batch), iter(window)
    return tuple(next(inner) if k in window_dims else next(rest) for k in range(len(batch) + len(window)))


# -- STABLEHLO_GATHER ------------------------------------------------------------------------------------------------
def infer_gather(node):
    """Dimensions of the indices, and those of a slice at offset_dims."""
    shape = node["input"].shape
    _, batch = _index_map(node, len(shape))
    sizes, collapsed = node.numbers("sizes"), _axes(node, "collapsed", len(shape))
    if len(sizes) != len(shape) or any(not 0 <= s <= n for s, n in zip(sizes, shape)) or \
            any(sizes[axis] != 1 for axis in collapsed):
        node.fail("sizes", f"is {sizes}, must fit {list(shape)} and be 1 in collapsed dimensions {collapsed}")
    window = [size for axis, size in enumerate(sizes) if axis not in collapsed]
    offsets = _axes(node, "offset_dims", len(batch) + len(window))
    if len(offsets) != len(window) or offsets != sorted(offsets):
        node.fail("offset_dims", f"is {offsets}, must be {len(window)} dimensions in rising order")
    return [_merged(batch, window, offsets)]


def compute_gather(node, inputs):
    """Slices whose first element is moved inside where they would reach out."""
    x, (shape,) = inputs[0], infer_gather(node)
    index_map, batch = _index_map(node, x.ndim)
    sizes, collapsed = node.numbers("sizes"), _axes(node, "collapsed", x.ndim)
    places = _places(node, inputs[1], x.ndim, index_map).reshape(-1, x.ndim)
    places = np.clip(places, 0, np.array(x.shape) - sizes)
    window = [size for axis, size in enumerate(sizes) if axis not in collapsed]
    slices = x[_grid(places, sizes)].reshape(*batch, *window)
    return [np.moveaxis(slices, range(len(batch), slices.ndim), _axes(node, "offset_dims", len(shape))).copy()]


TFL_STABLEHLO_GATHER = own(
    "TFL_STABLEHLO_GATHER",
    {"input:T indices:I offset_dims?:A collapsed?:B index_map:C sizes:D vector_dim:i32 -> output:U": _TYPES},
    compute_gather, infer_gather, same_dtype("input"))


# -- STABLEHLO_SCATTER -----------------------------------------------------------------------------------------------
_FUNCTIONS = {1: np.add, 2: np.multiply, 3: np.minimum, 4: np.maximum}
REPLACE = 0
"""Number of the function that takes the update."""


def infer_scatter(node):
    """Shape of the input."""
    shape, updates = node["input"].shape, node["updates"].shape
    _, batch = _index_map(node, len(shape))
    node.check_in("function", (REPLACE, *_FUNCTIONS))
    inserted, dims = _axes(node, "inserted", len(shape)), _axes(node, "window_dims", len(updates))
    window = tuple(updates[k] for k in dims)
    if len(window) + len(inserted) != len(shape) or dims != sorted(dims) or \
            updates != _merged(batch, window, dims):
        node.fail("updates", f"shape is {list(updates)}, must have {list(batch)} and a part of {list(shape)}")
    return [shape]


def compute_scatter(node, inputs):
    """The input with updates put in their places, one after the other; those that reach out are left out."""
    x, updates = inputs[0], inputs[2]
    infer_scatter(node)
    index_map, batch = _index_map(node, x.ndim)
    inserted, dims = _axes(node, "inserted", x.ndim), _axes(node, "window_dims", updates.ndim)
    parts = np.moveaxis(updates, dims, range(len(batch), updates.ndim))
    inner = iter(parts.shape[len(batch):])
    sizes = [1 if axis in inserted else next(inner) for axis in range(x.ndim)]
    parts = parts.reshape(prod(batch), *sizes)
    places = _places(node, inputs[1], x.ndim, index_map).reshape(-1, x.ndim)
    grid, result = np.broadcast_arrays(*_grid(places, sizes)), x.copy()
    inside = np.ones(grid[0].shape, bool)
    for index, n in zip(grid, x.shape):
        inside &= (index >= 0) & (index < n)
    target, function = tuple(index[inside] for index in grid), node.scalar("function")
    if function == REPLACE:
        result[target] = parts[inside]
    else:
        _FUNCTIONS[function].at(result, target, parts[inside])
    return [result]


TFL_STABLEHLO_SCATTER = own(
    "TFL_STABLEHLO_SCATTER",
    {"input:T indices:I updates:U window_dims?:A inserted?:B index_map:C vector_dim:i32 function:i32 -> output:V":
     _TYPES}, compute_scatter, infer_scatter, same_dtype("input", "updates"))
