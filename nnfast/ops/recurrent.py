"""Shared by the recurrent operations: activations [NN 13.8], shape rules, the time axis."""

from math import prod

import numpy as np

from .._native import conv, kernels
from .._native.recurrent import Walk
from ..model.quant import activation_float
from ..model.types import Activation
from ..record import record
from . import window

SUMS_FROM = 4
"""Rows from which one matrix product over all times pays off for the input, although its result goes through memory."""


def sigmoid(x):
    """Logistic function of a float64 array, without overflow."""
    return 0.5 * np.tanh(0.5 * x) + 0.5


ACTIVATIONS = {
    Activation.NONE: lambda x: x,
    Activation.RELU: lambda x: np.maximum(x, 0.0),
    Activation.RELU1: lambda x: np.clip(x, -1.0, 1.0),
    Activation.RELU6: lambda x: np.clip(x, 0.0, 6.0),
    Activation.TANH: np.tanh,
    Activation.SIGMOID: sigmoid,
}
"""Activation code -> function of a float64 array."""


def check_activation(node):
    """RELU1 is not among those of the standard's LSTMs and sequences; LiteRT has it."""
    node.check_in("activation", tuple(ACTIVATIONS) if node.is_litert else (0, 1, 3, 4, 6))


def must(node, name, present, why):
    """An optional input must be present, or omitted; why: the end of the message."""
    if node.has(name) != present:
        node.fail(name, f"is {'omitted, must be present' if present else 'present, must be omitted'} {why}")


def check_shape(node, name, shape):
    """A present input must have exactly this shape."""
    node.check_rank(name, len(shape))
    actual = node[name].shape
    for dim, (found, wanted) in enumerate(zip(actual, shape, strict=True)):
        if found != wanted:
            node.fail(name, f"dimension {dim} is {found}, must be {wanted}")


def sequence_shape(node):
    """(time, batch, input size) of the input of a sequence operation, whichever of the first two it stores first."""
    node.check_rank("input", 3)
    first, second, size = node["input"].shape
    return (first, second, size) if node.scalar("time_major") else (second, first, size)


def sequence_output(node, time, batch, units):
    """Shape of the output sequence in the order of the input."""
    return (time, batch, units) if node.scalar("time_major") else (batch, time, units)


def time_first(node, sequence):
    """The sequence with the time as dimension 0; its own inverse."""
    return sequence if node.scalar("time_major") else sequence.swapaxes(0, 1)


# -- native --------------------------------------------------------------------------------------------------------
@record(frozen=True, slots=True)
class Path:
    """How one direction of a layer traverses its sequences.

    row: values that the output sequence holds for one time and batch row, where they are more than the layer's own;
    start: the first of the layer's own.
    """

    times: int
    batch: int
    time_major: bool = True
    backward: bool = False
    row: int | None = None
    start: int = 0

    @property
    def rows(self):
        """Rows of the input, over all times."""
        return self.times * self.batch

    def walk(self, width, outputs):
        """The Walk from rows of `width` values to rows of `outputs` values."""
        strides = ((self.batch * each, each) if self.time_major else (each, self.times * each)
                   for each in (width, self.row or outputs))
        return Walk(self.batch, self.times, *strides, self.start, self.backward)

    def spans(self, weight_bytes):
        """(first, last, alone) of each step: one for all times, or one for each when the weights are big."""
        if self.times > 1 and weight_bytes <= kernels.sizes()["recurrent_near"]:
            return [(0, self.times, True)]
        return [(t, t + 1, False) for t in range(self.times)]


def sequence_path(node):
    """The Path of a sequence operation in one direction."""
    time, batch, _ = sequence_shape(node)
    return Path(time, batch, bool(node.scalar("time_major")))


def input_sums(b, source, sources, width, size, values):
    """Slot of weights @ x + bias for all rows x of a tensor, computed by a separate step.

    values(): (float32 weights [width, size], bias [width]), which are derived from the tensors `sources`.
    """
    rows = prod(source.shape) // size
    sums = b.temp(4 * rows * width)
    wanted = conv.packed_bytes_conv2d(width, size, 1, False)
    packed = b.const(b.packed(sources, np.uint8, lambda: conv.pack_conv2d_f32(*map(np.ascontiguousarray, values())),
                              lambda found: found.nbytes == wanted))
    b.emit(conv.Conv2dF32((b.slot(source), packed, sums), window.POINT, rows, size, width, -np.inf, np.inf))
    return sums


_CURVES = {Activation.TANH: "tanh", Activation.SIGMOID: "logistic"}


def curve_and_clamp(node):
    """(logistic, tanh or None, (low, high)): how native steps take the activation of a node."""
    code = node.scalar("activation")
    curve = _CURVES.get(code)
    return curve, (-np.inf, np.inf) if curve else activation_float(code)


def emit(b, steps):
    """Emit a list of steps; returns None, or the reason given instead of a list."""
    if isinstance(steps, str):
        return steps
    for step in steps:
        b.emit(step)
    return None
