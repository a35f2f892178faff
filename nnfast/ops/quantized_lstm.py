"""QUANTIZED_LSTM [NN 14.95]: an LSTM step on int8 data and weights with 16-bit gates and cell state.

The optional inputs have the names and rules of LSTM. Where documentation and reference differ
[NN 13.17 no. 11, 13.17 no. 12] this follows the documentation: biases count without layer norm too, and the forget and
input gate see the previous cell state.
"""

import math

import numpy as np

from .._native.recurrent import CellsQ8, GatesQ8, ProjectionQ8
from ..model import quant
from ..model.fixedpoint import WORD16, inv_sqrt
from ..model.types import OperationType
from . import lstm, requantize
from .base import OpDef, Signature
from .lstm import BIASES, GATES

_INPUTS = " ".join((
    "input:Q8S",
    *(f"{source}_to_{gate}_weights{'?' * (gate == 'input')}:Q8SY" for source in ("input", "recurrent")
      for gate in GATES),
    *(f"cell_to_{gate}_weights?:Q16S" for gate in GATES if gate != "cell"),
    *(f"{BIASES[gate]}{'?' * (gate == 'input')}:I32" for gate in GATES),
    "projection_weights?:Q8SY projection_bias?:I32 output_state_in:Q8S cell_state_in:Q16S",
    *(f"{gate}_layer_norm_weights?:Q16S" for gate in GATES),
    "cell_clip?:f32 proj_clip?:f32",
    *(f"{gate}_intermediate_scale:f32" for gate in GATES),
    "hidden_state_zero_point:i32 hidden_state_scale:f32",
))
_SIGNATURES = (Signature(f"{_INPUTS} -> output_state_out:Q8S cell_state_out:Q16S output:Q8S", ("1.3:",)),)

_GATE_BITS = 3  # integer bits of a gate before its activation
_NORMAL_BITS = 10  # fraction bits of a normalised gate and its bias


def _infer(node):
    node.check_rank("input", 2)
    batch, size = node["input"].shape
    lstm.check_presence(node)
    lstm.check_projection(node)
    units, outputs = lstm.check_shapes(node, batch, size)
    lstm.check_clips(node)
    _cell_exponent(node)
    _multipliers(node)
    return [(batch, outputs), (batch, units), (batch, outputs)]


def _cell_exponent(node):
    """k of the cell state's scale 2**k; tables and shifts cover only -15..-9."""
    exact = math.log2(node["cell_state_in"].scale)
    k = round(exact)
    if abs(exact - k) >= 1e-3 or not -15 <= k <= -9:
        node.fail("cell_state_in", f"scale is {node['cell_state_in'].scale:.9g}, must be a power of two, "
                                   "2**-15 to 2**-9")
    return k


def _multipliers(node):
    """{step or (step, gate): (multiplier, exponent)} of every requantization, formed in float32 from the left."""
    hidden = _positive(node, "hidden_state_scale")
    source, state = np.float32(node["input"].scale), np.float32(node["output_state_in"].scale)
    cell = np.float32(2.0 ** _cell_exponent(node))
    with np.errstate(over="ignore"):
        reals = {"hidden": np.float32(2.0**-15) / hidden * np.float32(2.0**-15)}
        if node.has("projection_weights"):
            reals["projection"] = _scale(node, "projection_weights") * hidden / state
        for gate in lstm.active_gates(node):
            scale = _positive(node, f"{gate}_intermediate_scale")
            reals["input", gate] = _scale(node, f"input_to_{gate}_weights") * source / scale
            reals["recurrent", gate] = _scale(node, f"recurrent_to_{gate}_weights") * state / scale
            if node.has(f"cell_to_{gate}_weights"):
                reals["peephole", gate] = cell * _scale(node, f"cell_to_{gate}_weights") / scale
            if lstm.has_layer_norm(node):
                reals["normal", gate] = _scale(node, f"{gate}_layer_norm_weights")
    for real in reals.values():
        if not np.isfinite(real):
            node.fail(None, "a product or quotient of scales is infinite in float32, must be finite")
    return {step: requantize.multipliers(float(real)) for step, real in reals.items()}


def _scale(node, name):
    return np.float32(node[name].scale)


def _positive(node, name):
    value = node.scalar(name)
    if not 0 < value < math.inf:
        node.fail(name, f"is {value}, must be finite and > 0")
    return np.float32(value)


def _saturated(words):
    return np.clip(words, WORD16.min, WORD16.max)


def _truncated(a, b):
    """Integer division towards zero, b > 0."""
    return np.sign(a) * (np.abs(a) // b)


def _dot(codes, weights):
    """Exact int64 sums [b, rows] of codes [b, n] with weights [rows, n]."""
    return (codes.astype(np.float64) @ weights.astype(np.float64).T).astype(np.int64)


def _normalised(words, weights, bias, multiplier):
    """Layer norm of int16 words [b, units]; F3 words."""
    units = words.shape[1]
    sums, squares = (values.sum(axis=1, keepdims=True) for values in (words, words * words))
    mean = _truncated(sums << _NORMAL_BITS, units)
    # inv_sqrt treats a variance below one (rounding can even make it negative) as one.
    variance = _truncated(squares * ((1 << 2 * _NORMAL_BITS) // units) - mean * mean, 1 << 2 * _NORMAL_BITS)
    scaled = quant.mbqm((words << _NORMAL_BITS) - mean, *inv_sqrt(variance))
    scaled = quant.wrap32(scaled * weights + bias)
    half = 1 << (_NORMAL_BITS - 1)
    scaled = _truncated(scaled + np.where(scaled > 0, half, -half), 1 << _NORMAL_BITS)
    factor, exponent = multiplier
    return _saturated(quant.mbqm(scaled, factor, exponent + WORD16.width - 1 - _GATE_BITS))


def _bounds(node, name, scale, low, high):
    """The range low..high, reduced by the standard's clip value; 0 disables the clip."""
    limit = node.scalar(name) if node.has(name) else 0
    if not limit > 0:
        return low, high
    bound = int(np.clip(np.float32(limit) / np.float32(scale), low, high))
    return -bound, bound


def _cell_bounds(node):
    return _bounds(node, "cell_clip", node["cell_state_in"].scale, WORD16.min, WORD16.max)


def _output_bounds(node):
    return _bounds(node, "proj_clip", node["projection_weights"].scale, -128, 127)


def _hidden_zero_point(node):
    return (node.scalar("hidden_state_zero_point") + 128) % 256 - 128  # the low byte counts


@np.errstate(over="ignore")
def _compute(node, inputs):
    of = {slot.name: array for slot, array in zip(node.signature.inputs, inputs, strict=True) if array is not None}
    of = {name: array.astype(np.int64) if array.dtype.kind == "i" else array for name, array in of.items()}
    by, k = _multipliers(node), _cell_exponent(node)
    data = of["input"] - node["input"].zero_point
    output = of["output_state_in"] - node["output_state_in"].zero_point

    def gate(name, cell):
        total = _dot(data, of[f"input_to_{name}_weights"])
        if not lstm.has_layer_norm(node):
            total += of[BIASES[name]]
        words = _saturated(quant.mbqm(total, *by["input", name]))
        back = _dot(output, of[f"recurrent_to_{name}_weights"])
        words = _saturated(quant.mbqm(back, *by["recurrent", name]) + words)
        if ("peephole", name) in by:
            words = _saturated(quant.mbqm(of[f"cell_to_{name}_weights"] * cell, *by["peephole", name]) + words)
        if lstm.has_layer_norm(node):
            words = _normalised(words, of[f"{name}_layer_norm_weights"], of[BIASES[name]], by["normal", name])
        return words

    cell = of["cell_state_in"]
    forget = WORD16.logistic(gate("forget", cell), _GATE_BITS)
    enter = WORD16.max - forget if lstm.is_cifg(node) else WORD16.logistic(gate("input", cell), _GATE_BITS)
    candidate = WORD16.tanh(gate("cell", cell), _GATE_BITS)
    cell = _saturated(quant.rdbpot(forget * cell, 15) + quant.rdbpot(enter * candidate, 30 + k))
    cell = np.clip(cell, *_cell_bounds(node))
    leave = WORD16.logistic(gate("output", cell), _GATE_BITS)
    output = _hidden(node, of, leave * WORD16.tanh(cell, k + 15), by).astype(np.int8)
    return [output, cell.astype(np.int16), output.copy()]


def _hidden(node, of, words, by):
    """Output codes of the products of output gate and squashed cell state: requantized, projected if asked for."""
    zero_point = _hidden_zero_point(node)
    hidden = np.clip(quant.mbqm(words, *by["hidden"]) - zero_point, -128, 127)
    if not node.has("projection_weights"):
        return hidden
    total = _dot(hidden + zero_point, of["projection_weights"])
    if node.has("projection_bias"):
        total += of["projection_bias"]
    codes = quant.mbqm(total, *by["projection"]) + node["output_state_in"].zero_point
    return np.clip(codes, *_output_bounds(node))


@np.errstate(over="ignore")
def _lower(node, b):
    (batch, size), gates = node["input"].shape, lstm.active_gates(node)
    units, outputs = node["input_to_output_weights"].shape[0], node["recurrent_to_output_weights"].shape[1]
    by, normal = {step: tuple(map(int, pair)) for step, pair in _multipliers(node).items()}, lstm.has_layer_norm(node)
    words = b.temp(2 * batch * len(gates) * units)
    slots = [b.slot(node["input"]), b.slot(node["output_state_in"]), words]
    for gate in gates:
        names = (f"input_to_{gate}_weights", f"recurrent_to_{gate}_weights", BIASES[gate])
        slots += [b.slot(node[name]) for name in names]
    zero_points = (node["input"].zero_point, node["output_state_in"].zero_point, 0)
    scales = [[by[source, gate] for gate in gates] for source in ("input", "recurrent")]
    b.emit(GatesQ8(slots, (batch, size, outputs, units), zero_points, True, not normal, *scales))

    state_out, cell_out, output = (b.slot(tensor) for tensor in node.outputs)
    projects, zero_point = node.has("projection_weights"), _hidden_zero_point(node)
    hidden = b.temp(batch * units) if projects else output
    slots = {"words": words, "cell_in": b.slot(node["cell_state_in"]), "cell_out": cell_out, "hidden": hidden}
    if not projects:
        slots["copy"] = state_out
    for gate in gates:
        if node.has(f"cell_to_{gate}_weights"):
            slots[f"{gate}_peephole"] = b.slot(node[f"cell_to_{gate}_weights"])
        if normal:
            slots[f"{gate}_norm"] = b.slot(node[f"{gate}_layer_norm_weights"])
            slots[f"{gate}_bias"] = b.slot(node[BIASES[gate]])
    b.emit(CellsQ8(slots, gates, (batch, units), _cell_exponent(node), _cell_bounds(node), zero_point, by))
    if projects:
        slots = [hidden, b.slot(node["projection_weights"]), output, state_out]
        if node.has("projection_bias"):
            slots.append(b.slot(node["projection_bias"]))
        zero_points = (zero_point, node["output_state_in"].zero_point)
        b.emit(ProjectionQ8(slots, (batch, units, outputs), zero_points, by["projection"], _output_bounds(node)))
    return None


QUANTIZED_LSTM = OpDef(
    OperationType.QUANTIZED_LSTM, _SIGNATURES, infer=_infer, compute=_compute, lower=_lower, multiply_adds=True,
)
