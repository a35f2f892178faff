"""Shared by operations that only move elements: strides, and native copies for slices, transposes and gathers."""

from math import prod

from .._native.movement import IndexedCopy, Separate, StridedCopy

MOST_DIMENSIONS = 6
"""Most dimensions of a native slice or gather."""
INDEX_BYTES = 32
"""Bytes per entry of a table of indices, during its construction and in the step that keeps it."""
_TOO_MANY = f"rank is {{}}, native up to {MOST_DIMENSIONS}"


def dense(shape, item):
    """Bytes from one element to the next along each dimension of a row-major tensor."""
    return [item * prod(shape[axis + 1:]) for axis in range(len(shape))]


def copy_order(b, source, output, shape, order):
    """Emit a transpose of `source`, viewed in a shape, into `output`."""
    item = source.dtype.itemsize
    along, turned = dense(shape, item), [shape[axis] for axis in order]
    b.emit(StridedCopy((b.slot(source), b.slot(output)), turned, [along[axis] for axis in order], dense(turned, item),
                       item))


def copy_box(b, source, output, first, count, stride):
    """Emit the copy of `count` elements along each dimension of `source`, from `first` on, each `stride` >= 1.

    Returns None, or why it is not native.
    """
    if len(count) > MOST_DIMENSIONS:
        return _TOO_MANY.format(len(count))
    item = source.dtype.itemsize
    along = dense(source.shape, item)
    # An empty box may start past the end; nothing is read from it.
    start = 0 if 0 in count else sum(at * step for at, step in zip(first, along, strict=True))
    if _is_one_run(source.shape, count, stride) and b.part(output, source, start):
        return None
    b.emit(StridedCopy((b.slot(source), b.slot(output)), count, [n * step for n, step in zip(stride, along)],
                       dense(count, item), item, 0, start))
    return None


def _is_one_run(shape, count, stride):
    """Whether a box has elements one behind the other, and any at all."""
    axis = next((axis for axis, size in enumerate(count) if size != 1), len(count))
    is_dense = all(step == 1 for step in stride[axis:]) and list(count[axis + 1:]) == list(shape[axis + 1:])
    return is_dense and 0 not in count


def copy_choice(b, source, output, indices, shape=None):
    """Emit the copy of the chosen positions along each dimension of `source`, viewed in `shape` if given.

    indices: for each dimension an array, a range, or how many in order, from the first again and again.
    Returns None, or why it is not native.
    """
    shape = source.shape if shape is None else shape
    if len(shape) > MOST_DIMENSIONS:
        return _TOO_MANY.format(len(shape))
    b.emit(IndexedCopy((b.slot(source), b.slot(output)), shape, indices, source.dtype.itemsize))
    return None


def copy_apart(b, source, outputs, axis, sizes):
    """Emit the copies of parts of `source`, of these sizes along an axis, to outputs that cannot lie in its memory."""
    item, slot = source.dtype.itemsize, b.slot(source)
    before, after = prod(source.shape[:axis]), prod(source.shape[axis + 1:])
    if 2 <= len(outputs) <= 4 and {size * after for size in sizes} == {1} and item <= 8:
        b.emit(Separate((slot, *map(b.slot, outputs)), before, item))
        return
    at, whole = 0, source.shape[axis] * after * item
    for size, output in zip(sizes, outputs, strict=True):
        part = size * after * item
        if before != 1 or part == 0 or not b.part(output, source, at):
            b.emit(StridedCopy((slot, b.slot(output)), (before,), (whole,), (part,), part, 0, at))
        at += part


def swap_last(b, slots, before, size, after, item):
    """Emit the copy of [before, size, after] elements from one slot to another as [before, after, size]."""
    whole = size * after * item
    b.emit(StridedCopy(slots, (before, after, size), (whole, item, after * item), (whole, size * item, item), item))
