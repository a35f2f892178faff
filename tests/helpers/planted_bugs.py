"""Wrong drivers: definitions and plans with one bug each, of the kinds that kernels have.

A definition that is wrong disagrees with the driver just as a driver that is wrong does with the definition.
"""

import os
import signal
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import nnfast
from nnfast.compiler import planner
from nnfast.model.types import OperationType
from nnfast.ops import registry


class Subtracts(nnfast.Device):
    """A device that takes ADD for SUB."""

    def prepare(self, model, *arguments, **options):
        operations = tuple(replace(operation, type=OperationType.SUB) if operation.type == OperationType.ADD else
                           operation for operation in model.main.operations)
        return super().prepare(model.with_main(operations=operations), *arguments, **options)


class Dies(nnfast.Device):
    """A device that takes its process along at the first model of five operations."""

    def prepare(self, model, *arguments, **options):
        if len(model.main.operations) == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().prepare(model, *arguments, **options)


@dataclass(frozen=True)
class Bug:
    """operations: names of those that can show it, None for any; plant(monkeypatch)."""

    operations: tuple | None
    plant: object


def _definition(*names):
    """A Bug out of wrong(compute, node, inputs) -> results, for the definitions of these operations."""
    def bug(wrong):
        def plant(monkeypatch):
            for name in names:
                op = registry.lookup(OperationType[name])
                monkeypatch.setattr(op, "compute", partial(wrong, op.compute))

        return Bug(names, plant)

    return bug


def _read_otherwise(name, change):
    """wrong() of a definition that takes another value for an input: change(array)."""
    def wrong(compute, node, inputs):
        if not node.has(name):
            return compute(node, inputs)
        copy, place = node.with_values([None] * len(node.inputs)), node.place(name)
        value = np.asarray(change(node.value(name)), node[name].dtype)
        copy.inputs[place], copy.memo = replace(node[name], value=value), {}
        return compute(copy, [*inputs[:place], value, *inputs[place + 1:]])

    return wrong


def _first_input(change, is_input=True):
    """wrong() of a definition that takes another quantization of its first input, or of its first output."""
    def wrong(compute, node, inputs):
        copy = node.with_values([None] * len(node.inputs))
        copy.memo = {}
        tensors = copy.inputs if is_input else copy.outputs
        tensors = [replace(tensors[0], **change(tensors[0])), *tensors[1:]]
        if is_input:
            copy.inputs = tensors
        else:
            copy.outputs = tensors
        return compute(copy, inputs)

    return wrong


def _results(change):
    """wrong() of a definition whose first result is changed: change(array, node, inputs)."""
    def wrong(compute, node, inputs):
        first, *others = compute(node, inputs)
        return [np.asarray(change(first, node, inputs), first.dtype), *others]

    return wrong


def _swapped_padding(compute, node, inputs):
    if not node.has("padding_left"):
        return compute(node, inputs)
    copy = node.with_values([None] * len(node.inputs))
    left, right = node.place("padding_left"), node.place("padding_right")
    copy.inputs[left], copy.inputs[right] = replace(node.inputs[left], value=node.inputs[right].value), \
        replace(node.inputs[right], value=node.inputs[left].value)
    copy.memo = {}
    return compute(copy, [t.value if t.present else None for t in copy.inputs])


def _is_8_bit(array):
    return array.dtype.itemsize == 1


def _overlapping(monkeypatch):
    """Temporaries that are live at the same time share their last bytes."""
    def place(blocks, go_on=lambda: None, whole=planner.place):
        offsets, total = whole(blocks, go_on)
        return {key: max(offset - 64, 0) for key, offset in offsets.items()}, total

    monkeypatch.setattr(planner, "place", place)


def _truncated(compute, node, inputs):
    with np.errstate(all="ignore"):
        x = np.asarray(inputs[0], np.float64) / node.outputs[0].scale
        limits = np.iinfo(node.outputs[0].dtype)
        codes = np.clip(np.trunc(np.nan_to_num(x)) + node.outputs[0].zero_point, limits.min, limits.max)
    return [codes.astype(node.outputs[0].dtype)]


BUGS = {
    "padding on the wrong side of a convolution": _definition("CONV_2D")(_swapped_padding),
    "padding on the wrong side of a pool": _definition("AVERAGE_POOL_2D", "MAX_POOL_2D")(_swapped_padding),
    "RELU6 computed as RELU": _definition("ADD", "MUL", "SUB")(
        _read_otherwise("activation", lambda a: np.where(a == 3, 1, a))),
    "fused activation left out": _definition("DEPTHWISE_CONV_2D")(_read_otherwise("activation", lambda a: a * 0)),
    "zero point off by one": _definition("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")(
        _first_input(lambda t: {"zero_point": t.zero_point + 1})),
    "multiplier with eight bits": _definition("ADD", "MUL")(
        _first_input(lambda t: {"scale": t.scale * (1 + 2.0**-8)}, is_input=False)),
    "truncation instead of rounding": _definition("QUANTIZE")(_truncated),
    "saturation one code too early": _definition("FULLY_CONNECTED", "CONV_2D", "MUL", "ADD")(
        _results(lambda a, node, inputs: np.minimum(a, np.iinfo(a.dtype).max - 1) if _is_8_bit(a) else a)),
    "one wrong entry of a table": _definition("TANH", "LOGISTIC")(
        _results(lambda a, node, inputs: np.where(inputs[0] == 100, a ^ 1, a) if _is_8_bit(a) else a)),
    "largest of negative numbers is 0": _definition("MAX_POOL_2D", "REDUCE_MAX")(
        _results(lambda a, node, inputs: np.maximum(a, 0))),
    "the last element left out of a sum": _definition("REDUCE_SUM", "MEAN")(
        lambda compute, node, inputs: compute(node, [np.concatenate([
            inputs[0].reshape(-1)[:-1], inputs[0].reshape(-1)[:1] * 0]).reshape(inputs[0].shape), *inputs[1:]])),
    "the last of equal extremes": _definition("ARGMAX", "ARGMIN")(
        lambda compute, node, inputs: [np.asarray(
            inputs[0].shape[node.axis()] - 1 - compute(node, [np.flip(inputs[0], node.axis()), *inputs[1:]])[0],
            np.int32)]),
    "equal is not greater or equal": _definition("GREATER_EQUAL", "LESS_EQUAL")(
        _results(lambda a, node, inputs: a & (inputs[0] != inputs[1]))),
    "padding by 0 instead of the given value": _definition("PAD_V2")(_read_otherwise("pad_value", lambda a: a * 0)),
    "beta left out": _definition("SOFTMAX", "LOG_SOFTMAX")(_read_otherwise("beta", lambda a: a * 0 + 1)),
    "half pixel centres left out": _definition("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")(
        _read_otherwise("half_pixel_centers", lambda a: a * 0)),
    "radius one too large": _definition("LOCAL_RESPONSE_NORMALIZATION")(_read_otherwise("radius", lambda a: a + 1)),
    "the last index clipped": _definition("GATHER")(
        _read_otherwise("indices", lambda a: np.minimum(a, max(int(a.max()) - 1, 0)))),
    "clipping of the cell left out": _definition("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")(
        _read_otherwise("cell_clip", lambda a: a * 0)),
    "rounding instead of truncation": _definition("CAST")(
        lambda compute, node, inputs: compute(node, [np.rint(inputs[0]) if inputs[0].dtype.kind == "f" and
                                                     node.outputs[0].dtype.kind in "iu" else inputs[0]])),
    "values that share memory while both are needed": Bug(None, _overlapping),
}
