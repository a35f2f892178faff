"""Instances of the recurrent operations."""

import numpy as np

from ...model.types import QUANT_RANGE
from .draft import T, divisors, makes

GATES = ("input", "forget", "cell", "output")
BIASES = {"input": "input_gate_bias", "forget": "forget_gate_bias", "cell": "cell_gate_bias",
          "output": "output_gate_bias"}
SEQUENCE_ACTIVATIONS = (0, 1, 3, 4, 6)


def weight(d, name, shape, quantization=None):
    """Draw a weight matrix or vector of a recurrent cell; small enough that the states stay bounded."""
    return d.tensor(name, shape, quantization, spread=0.5 * shape[-1] ** -0.5 if len(shape) == 2 else 0.3)


def sequence(d, time, batch, size, name="input", time_major=None):
    """Draw the input sequence; returns whether it stores the time first."""
    if time_major is None:
        time_major = d.scalar("time_major", d.int(0, 1))
    d.tensor(name, (time, batch, size) if time_major else (batch, time, size))
    return time_major


@makes("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def rnn(d):
    batch, size, units = d.int(1, 5), d.channels(), d.channels()
    if d.op.name == "RNN":
        d.tensor("input", (batch, size))
    else:
        sequence(d, d.int(1, 6), batch, size)
    rnn_direction(d, "", batch, size, units)
    d.scalar("activation", d.choice(*SEQUENCE_ACTIVATIONS))


def rnn_direction(d, prefix, batch, size, units):
    weight(d, f"{prefix}weights", (units, size))
    weight(d, f"{prefix}recurrent_weights", (units, units))
    weight(d, f"{prefix}bias", (units,))
    d.tensor(f"{prefix}hidden_state_in", (batch, units), constant=False, spread=0.5)


def auxiliary(d, time, batch, size, time_major):
    """Draw the auxiliary input: (its size or None, whether the directions are cross-linked)."""
    kind = d.int(0, 2)
    if kind == 0:
        return None, False
    size = size if kind == 1 and d.chance(0.5) else d.channels()
    sequence(d, time, batch, size, "aux_input", time_major)
    return size, kind == 2


@makes("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_rnn(d):
    time, batch, size = d.int(1, 5), d.int(1, 4), d.channels()
    time_major = sequence(d, time, batch, size)
    other, crossed = auxiliary(d, time, batch, size, time_major)
    for prefix, width in (("fw_", size), ("bw_", size if other is None or crossed else other)):
        units = d.channels()
        rnn_direction(d, prefix, batch, width, units)
        if crossed:
            weight(d, f"{prefix}aux_weights", (units, other))
    d.scalar("activation", d.choice(*SEQUENCE_ACTIVATIONS))
    d.scalar("merge_outputs", all(slot.name != "bw_output" for slot in d.signature.outputs))


class Cell:
    """Which optional inputs an LSTM has; both directions of one operation have the same."""

    def __init__(self, d):
        self.coupled, self.peephole, self.projects = d.chance(0.4), d.chance(0.5), d.chance(0.5)
        self.projection_bias = self.projects and d.chance(0.5)
        self.normal = d.has("output_layer_norm_weights") or d.has("fw_output_layer_norm_weights")
        self.normal = self.normal and d.chance(0.5)
        self.gates = GATES[1:] if self.coupled else GATES


def lstm_direction(d, cell, prefix, batch, size, quantization=None):
    """Draw weights, biases and states; quantization: of an input by its name. Returns the units."""
    quantization = quantization or (lambda name: None)
    units = 1 + d.channels()
    outputs = d.channels() if cell.projects else units

    def give(name, shape):
        weight(d, prefix + name, shape, quantization(name))

    for gate in cell.gates:
        give(f"input_to_{gate}_weights", (units, size))
        give(f"recurrent_to_{gate}_weights", (units, outputs))
        give(BIASES[gate], (units,))
        if cell.peephole and gate != "cell":
            give(f"cell_to_{gate}_weights", (units,))
        if cell.normal:
            give(f"{gate}_layer_norm_weights", (units,))
    if cell.projects:
        give("projection_weights", (outputs, units))
    if cell.projection_bias:
        give("projection_bias", (outputs,))
    for name, width in (("output_state_in", outputs), ("cell_state_in", units)):
        d.tensor(prefix + name, (batch, width), quantization(name), constant=False, spread=0.5)
    return units


def clips(d):
    for name in ("cell_clip", "proj_clip"):
        d.scalar(name, d.choice(0.0, d.real(0.1, 2.0)))


@makes("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(d):
    batch, size = d.int(1, 4), d.channels()
    if d.op.name == "LSTM":
        d.tensor("input", (batch, size))
    else:
        sequence(d, d.int(1, 5), batch, size)
    lstm_direction(d, Cell(d), "", batch, size)
    d.scalar("activation", d.choice(*SEQUENCE_ACTIVATIONS))
    clips(d)


@makes("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_lstm(d):
    time, batch, size = d.int(1, 4), d.int(1, 3), d.channels()
    time_major = sequence(d, time, batch, size)
    other, crossed = auxiliary(d, time, batch, size, time_major)
    cell = Cell(d)
    for prefix, width in (("fw_", size), ("bw_", size if other is None or crossed else other)):
        units = lstm_direction(d, cell, prefix, batch, width)
        for gate in cell.gates if crossed else ():
            weight(d, f"{prefix}aux_input_to_{gate}_weights", (units, other))
    d.scalar("activation", d.choice(*SEQUENCE_ACTIVATIONS))
    clips(d)
    d.scalar("merge_outputs", all(slot.name != "bw_output" for slot in d.signature.outputs))


@makes("QUANTIZED_LSTM")
def quantized_lstm(d):
    batch, size = d.int(1, 4), d.channels()
    state = (2.0 ** -d.int(9, 15), 0)
    source, hidden = d.quantization(T.TENSOR_QUANT8_ASYMM_SIGNED), d.quantization(T.TENSOR_QUANT8_ASYMM_SIGNED)

    def quantization(name):
        if name == "cell_state_in":
            return state
        if name == "output_state_in":
            return hidden
        if name.endswith("bias"):
            return 2.0**-15, 0
        return float(np.float32(2.0 ** -d.rng.uniform(4, 9))), 0

    d.tensor("input", (batch, size), source)
    lstm_direction(d, Cell(d), "", batch, size, quantization)
    clips(d)
    for gate in GATES:
        d.scalar(f"{gate}_intermediate_scale", 2.0 ** -d.int(6, 12))
    d.scalar("hidden_state_zero_point", d.int(-128, 127))
    d.scalar("hidden_state_scale", 2.0 ** -d.int(5, 8))
    for place, (scale, zero_point) in enumerate((hidden, state, hidden)):
        d.result(place, scale, zero_point)


@makes("QUANTIZED_16BIT_LSTM")
def quantized_16bit_lstm(d):
    batch, size, units = d.int(1, 4), d.channels(), d.channels()
    d.tensor("input", (batch, size), (1 / 128, 128))
    shared = d.quantization(T.TENSOR_QUANT8_ASYMM)
    for gate in GATES:
        d.tensor(f"input_to_{gate}_weights", (units, size), shared)
        d.tensor(f"recurrent_to_{gate}_weights", (units, units), shared)
        d.tensor(BIASES[gate], (units,), (np.float32(shared[0]) / np.float32(128), 0), low=-9000, high=9000)
    low, high = QUANT_RANGE[T.TENSOR_QUANT16_SYMM]
    d.tensor("cell_state_in", (batch, units), (1 / 2048, 0), constant=False, low=low, high=high)
    d.tensor("output_in", (batch, units), (1 / 128, 128), constant=False)


@makes("SVDF")
def svdf(d):
    batch, size, memory, filters = d.int(1, 4), d.channels(), d.int(1, 9), d.channels()
    rank = d.scalar("rank", d.choice(*divisors(filters)))
    d.tensor("input", (batch, size))
    weight(d, "weights_feature", (filters, size))
    weight(d, "weights_time", (filters, memory))
    if d.chance(0.6):
        weight(d, "bias", (filters // rank,))
    d.tensor("state_in", (batch, memory * filters), constant=False)
    d.scalar("activation", d.choice(*SEQUENCE_ACTIVATIONS))
