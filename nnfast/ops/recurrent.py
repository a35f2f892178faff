"""What the recurrent operations share: activations (ops_a.md A.8), shape rules, the time axis."""

import numpy as np

from ..model.types import Activation


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
