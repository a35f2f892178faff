"""Native steps of a float32 LSTM layer: one cell step, or all steps of one direction of a sequence."""

from math import prod

import numpy as np

from .._native import gemv, lstm
from ..model.types import OperandType, type_name
from . import recurrent

GATES = ("input", "forget", "cell", "output")


def _gates(node):
    return GATES if node.has("input_to_input_weights") else GATES[1:]


def _parameters(node):
    """Names of the present weights and biases."""
    names = []
    for gate in _gates(node):
        names += [f"input_to_{gate}_weights", f"recurrent_to_{gate}_weights", f"cell_to_{gate}_weights",
                  f"{gate}_gate_bias", f"{gate}_layer_norm_weights"]
    names += ["projection_weights", "projection_bias"]
    return [name for name in names if node.has(name)]


def _values(node, names):
    return [node[name].value for name in names]


def steps(node, b, path, source, output, state_out=None, cell_out=None, scratch=None):
    """Steps of a layer (a node or a direction of one) on a path, or why there are none.

    source, output: tensors of the sequences; state_out, cell_out, scratch: tensors, or None where the form has none.
    """
    if source.type != OperandType.TENSOR_FLOAT32:
        return f"no native kernel for {type_name(source.type)}"
    if node.has("output_layer_norm_weights"):
        return "no native kernel for layer norm"
    for name in _parameters(node):
        if node[name].value is None:
            return f"{name} is not constant"
    gates, projects, has_peephole = _gates(node), node.has("projection_weights"), node.has("cell_to_output_weights")
    from_input = _values(node, [f"input_to_{gate}_weights" for gate in gates])
    weights = _values(node, [f"recurrent_to_{gate}_weights" for gate in gates])
    bias = _values(node, [f"{gate}_gate_bias" for gate in gates])
    peephole = _values(node, [f"cell_to_{gate}_weights" for gate in gates if gate != "cell"]) if has_peephole else []
    (units, size), outputs = from_input[0].shape, weights[0].shape[1]
    if path.rows < recurrent.SUMS_FROM:
        data, width = b.slot(source), size
        weights = [np.concatenate(pair, 1) for pair in zip(from_input, weights)]
    else:
        # The gate sums of the input, in the order in which the tiles of cells read them.
        rows = lstm.interleave(from_input).reshape(-1, size)
        data = recurrent.input_sums(b, source, rows, lstm.interleave(bias).reshape(-1))
        width, size = rows.shape[0], 0
    packed = lstm.pack_f32(weights, bias, peephole)
    cell_out = b.temp(4 * path.batch * units) if cell_out is None else b.slot(cell_out)
    slots = [data, b.slot(node["output_state_in"]), b.slot(node["cell_state_in"]), cell_out, b.slot(output),
             b.const(packed)]
    parts, near = ["cells"], packed.nbytes
    if projects:
        project = gemv.pack_f32(node["projection_weights"].value,
                                node["projection_bias"].value if node.has("projection_bias") else None)
        slots += [b.temp(4 * path.batch * units), b.const(project)]
        parts.append("projection")
        near += project.nbytes

    clips = (node.scalar("cell_clip"), node.scalar("proj_clip"))
    cell_clip, proj_clip = (clip if clip > 0 else np.inf for clip in clips)
    walk = path.walk(width, outputs)
    form = {"cifg": len(gates) == 3, "peephole": has_peephole, "activation": node.scalar("activation"),
            "cell_clip": cell_clip, "clamp": (-proj_clip, proj_clip), "projects": projects,
            "state_out": None if state_out is None else b.slot(state_out)}
    if scratch is not None:
        # What it holds is unspecified; memory of an earlier run it must not be.
        form |= {"cleared": b.slot(scratch), "clear_count": prod(scratch.shape)}
    made = []
    for first, last, alone in path.spans(near):
        for part in ["both" if projects else "cells"] if alone else parts:
            made.append(lstm.LstmF32(slots, part, walk, (units, size, outputs), (first, last), alone, **form))
            form.pop("cleared", None)
    return made
