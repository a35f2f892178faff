"""Several items in one execution, side by side along the leading dimension of every input and output."""

import numpy as np

from ..errors import Error, InvalidArgument
from ..model.types import OperandType

NEAR = 2e-5
"""Share of an output's range by which floats of an item may differ in a batch: sums are added up in another order."""

_SEED = 0


class Batch:
    """A model prepared for several items at once.

    prepared: the PreparedModel; shapes: of the inputs of one item; rows: of each output that belong to one item.
    """

    def __init__(self, prepared, shapes, rows):
        self.prepared, self._shapes, self._rows = prepared, shapes, rows

    def takes(self, arrays):
        """True for inputs of the shapes that a batch is made of; where the model leaves sizes open there are others."""
        return all(array is not None and array.shape == shape for array, shape in zip(arrays, self._shapes))

    def run(self, calls, limits):
        """Outputs of each call, which is a list of the inputs of an item; views of arrays of the whole batch."""
        outputs = self.prepared.perform([np.concatenate(column) for column in zip(*calls)], limits)
        return [[array[k * rows:(k + 1) * rows] for array, rows in zip(outputs, self._rows)]
                for k in range(len(calls))]


def batched(prepared, single, count, limits):
    """(Batch of `count` items, "") for a prepared model, or (None, why it has none).

    Whether items stay apart is tried: random items run in a batch and alone, in `single`, which must give the same
    bytes for integers and nearly the same floats. Raises InvalidArgument if the constants of the model are gone.
    """
    if not prepared.is_plain:
        return None, "the model has states, or operands that were to be kept"
    shapes, reason = _shapes_of(prepared.inputs)
    if reason:
        return None, reason
    wide = {place: (count * shape[0], *shape[1:]) for place, shape in enumerate(shapes)}
    items = _random_items(prepared.inputs, shapes, count)
    model, made = prepared.whole, None
    if model is None:
        raise InvalidArgument(f"map batch: is {count}, the constants that it needs were freed after packing; keep the "
                              "nnfast.Model as long as its prepared model, or leave batch out")
    try:
        made = single.device.prepare(model, priority=prepared.priority, input_shapes=wide)
        alone = {k: single.perform(items[k], limits) for k in {0, count - 1}}
        rows = [array.shape[0] if array.ndim else 0 for array in alone[0]]
        if made.result_shapes is None:
            reason = "its outputs have shapes that depend on data"
        elif any(tuple(shape) != (count * n, *array.shape[1:]) or not n
                 for shape, array, n in zip(made.result_shapes, alone[0], rows)):
            reason = "its outputs do not grow with the batch"
        else:
            batch = Batch(made, shapes, rows)
            results = batch.run(items, limits)
            if all(_same(results[k], outputs) for k, outputs in alone.items()):
                return batch, ""
            reason = "items of a batch do not stay apart in it"
    except Error as error:
        reason = str(error)
    if made is not None:
        made.close()
    return None, reason


def _shapes_of(infos):
    """(shapes of the inputs of one item, ""), or (None, why there is no batch)."""
    shapes = []
    for info in infos:
        if not info.shape:
            return None, f"input {info.name!r} has no leading dimension"
        if None in info.shape[1:]:
            return None, f"input {info.name!r} has open dimensions other than the first"
        shapes.append((info.shape[0] or 1, *info.shape[1:]))
    return shapes, ""


def _random_items(infos, shapes, count):
    generator = np.random.default_rng(_SEED)
    return [[_random(generator, info, shape) for info, shape in zip(infos, shapes)] for _ in range(count)]


def _random(generator, info, shape):
    """Floats in [-1, 1), all codes of quantized tensors, else 0 or 1."""
    if info.dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(info.dtype)
    if info.is_quantized and info.type != OperandType.TENSOR_INT32:
        codes = np.iinfo(info.dtype)
        return generator.integers(codes.min, codes.max, shape, info.dtype, endpoint=True)
    return generator.integers(0, 2, shape).astype(info.dtype)


def _same(ours, theirs):
    """Whether outputs are equal, floats nearly."""
    for mine, other in zip(ours, theirs):
        if mine.dtype.kind != "f":
            if not np.array_equal(mine, other):
                return False
            continue
        mine, other = mine.astype(np.float64), other.astype(np.float64)
        finite = np.isfinite(other)
        span = np.ptp(other[finite]) if finite.any() else 0.0
        if not np.allclose(mine, other, rtol=1e-5, atol=NEAR * span, equal_nan=True):
            return False
    return True
