"""Native steps of a float32 LSTM layer: one cell step, or all steps of one direction of a sequence."""

from math import prod

import numpy as np

from .._native import recurrent as native
from ..model.types import OperandType, type_name
from . import recurrent

GATES = ("input", "forget", "cell", "output")

HALF_FROM = 1 << 20
"""Bytes of a relaxed model's weights above which they are stored as float16. The same on all machines, as it shows."""


def _is_constant(node, gates):
    """True when all weights and biases are known now."""
    names = ["projection_weights", "projection_bias"]
    for gate in gates:
        names += [f"input_to_{gate}_weights", f"recurrent_to_{gate}_weights", f"cell_to_{gate}_weights",
                  f"{gate}_gate_bias"]
    return all(node[name].value is not None for name in names if node.has(name))


def _tensors(node, gates, text):
    return [node[text.format(gate)] for gate in gates]


def _values(node, gates, text):
    return [tensor.value for tensor in _tensors(node, gates, text)]


class _Layer:
    """Parameters of a layer that both forms of steps need."""

    def __init__(self, node, b, path, source, output):
        self.node, self.b, self.path, self.source, self.output = node, b, path, source, output
        self.gates = GATES if node.has("input_to_input_weights") else GATES[1:]
        self.units, self.size = node["input_to_output_weights"].shape
        self.outputs = node["recurrent_to_output_weights"].shape[1]
        self.projects, self.peephole = node.has("projection_weights"), node.has("cell_to_output_weights")
        self.activation = node.scalar("activation")
        clips = (node.scalar("cell_clip"), node.scalar("proj_clip"))
        self.cell_clip, proj_clip = (clip if clip > 0 else np.inf for clip in clips)
        self.clamp = (-proj_clip, proj_clip)

    def state_slots(self, cell_out):
        """Slots of both states in and of the cell state out."""
        node, b = self.node, self.b
        cell_out = b.temp(4 * self.path.batch * self.units) if cell_out is None else b.slot(cell_out)
        return b.slot(node["output_state_in"]), b.slot(node["cell_state_in"]), cell_out


def steps(node, b, path, source, output, state_out=None, cell_out=None, scratch=None):
    """Steps of a layer (a node or a direction of one) on a path, or why there are none.

    source, output: tensors of the sequences; state_out, cell_out, scratch: tensors, or None where the form has none.
    """
    if source.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(source.type)}"
    layer = _Layer(node, b, path, source, output)
    state_out = None if state_out is None else b.slot(state_out)
    # Its content is unspecified, but must not be stale memory.
    cleared, count = (None, 0) if scratch is None else (b.slot(scratch), prod(scratch.shape))
    constant = _is_constant(node, layer.gates)
    if constant and not node.has("output_layer_norm_weights"):
        return _packed(layer, state_out, cell_out, cleared, count)
    return _as_they_lie(layer, constant, state_out, cell_out, cleared, count)


def _known(tensors):
    return [tensor.value for tensor in tensors]


def _packed_projection(layer):
    """Packed weights of the projection, and their size."""
    node, weights = layer.node, layer.node["projection_weights"]
    bias = node["projection_bias"].value if node.has("projection_bias") else None
    size = native.packed_bytes_gemv(layer.outputs, layer.units)
    return layer.b.packed([weights], np.float32, lambda: native.pack_gemv_f32(weights.value, bias).reshape(-1),
                          lambda found: found.nbytes == size), size


def _fits_half(weights):
    """True if a relaxed model's weights can be stored as float16, and are many enough."""
    most = np.finfo(np.float16).max
    return sum(array.nbytes for array in weights) > HALF_FROM and \
        all(np.abs(array).max(initial=0) <= most for array in weights)


def _packed(layer, state_out, cell_out, cleared, clear_count):
    """Steps on packed weights."""
    node, b, path, gates, units, size = layer.node, layer.b, layer.path, layer.gates, layer.units, layer.size
    from_input, weights = (_tensors(node, gates, f"{source}_to_{{}}_weights") for source in ("input", "recurrent"))
    sources, bias = from_input + weights, _tensors(node, gates, "{}_gate_bias")
    seeing = [gate for gate in gates if gate != "cell"] if layer.peephole else []
    together = path.rows < recurrent.SUMS_FROM
    if together:
        data, width = b.slot(layer.source), size
    else:
        # The gate sums of the input, in the order in which the tiles of cells read them.
        width = native.interleaved_rows(units, len(gates))
        data = recurrent.input_sums(b, layer.source, from_input, width, size, lambda: (
            native.interleave(_known(from_input)).reshape(-1, size), native.interleave(_known(bias)).reshape(-1)))
        size = 0

    def matrices():
        sides = (_known(from_input), _known(weights)) if together else (_known(weights),)
        return list(zip(*sides))

    half = node.relaxed and b.packed_fact(sources, lambda: _fits_half([m for side in matrices() for m in side]))
    near = native.packed_bytes_lstm(units, len(gates), len(seeing), size + layer.outputs, half)
    packed = b.packed(sources, np.float32, lambda: native.pack_lstm_f32(
        matrices(), _known(bias), _values(node, seeing, "cell_to_{}_weights"), half).reshape(-1),
        lambda found, wanted=near: found.nbytes == wanted)
    slots = [data, *layer.state_slots(cell_out), b.slot(layer.output), b.const(packed)]
    parts = ["cells"]
    if layer.projects:
        project, size_of_project = _packed_projection(layer)
        slots += [b.temp(4 * path.batch * units), b.const(project)]
        parts.append("projection")
        near += size_of_project
    form = {"cifg": len(gates) == 3, "peephole": layer.peephole, "activation": layer.activation,
            "cell_clip": layer.cell_clip, "clamp": layer.clamp, "projects": layer.projects, "state_out": state_out,
            "cleared": cleared, "clear_count": clear_count, "half": half}
    made, walk = [], path.walk(width, layer.outputs)
    for first, last, alone in path.spans(near):
        for part in ["both" if layer.projects else "cells"] if alone else parts:
            made.append(native.LstmF32(slots, part, walk, (units, size, layer.outputs), (first, last), alone, **form))
            form["cleared"] = None
    return made


def _as_they_lie(layer, constant, state_out, cell_out, cleared, clear_count):
    """Steps on unpacked weights: they are not constant, or layer norm needs whole rows."""
    node, b, path, gates, units, size = layer.node, layer.b, layer.path, layer.gates, layer.units, layer.size
    data, width = b.slot(layer.source), size
    if constant and path.rows >= recurrent.SUMS_FROM:
        width, from_input = units * len(gates), _tensors(node, gates, "input_to_{}_weights")
        data = recurrent.input_sums(b, layer.source, from_input, width, size, lambda: (
            np.concatenate(_known(from_input)), np.zeros(units * len(gates), np.float32)))
        size = 0
    sums = b.temp(4 * path.batch * len(gates) * units)
    slots = dict(zip(native.FIXED, (data, *layer.state_slots(cell_out), b.slot(layer.output), sums)))
    kinds = [("output", "recurrent_to_{}_weights"), ("bias", "{}_gate_bias"), ("peephole", "cell_to_{}_weights"),
             ("norm", "{}_layer_norm_weights")] + [("input", "input_to_{}_weights")] * (size > 0)
    for gate in gates:
        for kind, text in kinds:
            if node.has(text.format(gate)):
                slots[f"{gate}_{kind}"] = b.slot(node[text.format(gate)])
    parts = ["sums", "cells"]
    if layer.projects:
        parts.append("projection")
        slots |= {"hidden": b.temp(4 * path.batch * units), "project": b.slot(node["projection_weights"])}
        if node.has("projection_bias"):
            slots["project_bias"] = b.slot(node["projection_bias"])
    if state_out is not None:
        slots["state_out"] = state_out
    made, walk = [], path.walk(width, layer.outputs)
    near = 4 * units * (len(gates) * (size + layer.outputs) + layer.projects * layer.outputs)
    for first, last, alone in path.spans(near):
        for part in [parts] if alone else [[part] for part in parts]:
            more = {} if cleared is None or made else {"cleared": cleared}
            made.append(native.LstmRowsF32(
                slots | more, gates, part, walk, (units, size, layer.outputs), (first, last), alone, layer.activation,
                layer.cell_clip, layer.clamp, clear_count))
    return made
