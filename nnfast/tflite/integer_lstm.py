"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8 tensors with int16 cells ("8x8_16"): a QUANTIZED_LSTM of the standard a step."""

import numpy as np

from ..model.types import LifeTime, Operand, OperandType, OperationType
from .rules import counts_of
from .schema import TensorType

T = OperandType
MAX_STEPS = 1024
"""Most steps of a sequence: each becomes separate operations."""

_WEIGHTS, _PEEPHOLES, _BIASES, _NORMS = (*range(1, 9), 16), (9, 10, 11), (*range(12, 16), 17), range(20, 24)
_TYPES = {**dict.fromkeys(_WEIGHTS, (T.TENSOR_QUANT8_SYMM, TensorType.INT8, 2)),
          **dict.fromkeys((*_PEEPHOLES, *_NORMS), (T.TENSOR_QUANT16_SYMM, TensorType.INT16, 1)),
          **dict.fromkeys(_BIASES, (T.TENSOR_INT32, TensorType.INT32, 1))}
_REQUIRED = (0, 2, 3, 4, 6, 7, 8, 13, 14, 15, 18, 19)
_GATE_SCALE = 2.0**-12
"""Of the gates' sums where there is no layer normalization."""


def sequence_lstm(b, op):
    """The sequence, step by step; states are handled as in float LSTMs."""
    if len(op.inputs) not in (20, 24) or len(op.outputs) != 1 or -1 in [op.inputs[place] for place in _REQUIRED]:
        b.refuse(op, f"has {counts_of(len(op.inputs), len(op.outputs))}, must have 20 or 24 and 1, and those"
                     f" of a full LSTM")
    x, out = b.tensor(op, 0), b.result(op)
    if x.type != TensorType.INT8 or op.options.activation != 4 or op.options.diagonal_recurrent_tensors:
        b.refuse(op, "must have int8 tensors, full recurrent weights and the activation TANH")
    dims = b.dims(op, x)
    state, cell = b.tensor(op, 18), b.tensor(op, 19)
    axis = 0 if op.options.time_major else 1
    if len(dims) == 3 and not dims[1 - axis] and state.dims:  # states have as many rows
        dims = tuple(size if k != 1 - axis else state.dims[0] for k, size in enumerate(dims))
    if len(dims) != 3 or 0 in dims:
        b.refuse(op, f"input has shape {list(dims)}, must be known and of rank 3")
    steps, batch, size = dims[axis], dims[1 - axis], dims[2]
    if steps > MAX_STEPS:
        b.refuse(op, f"has {steps} steps, must have at most {MAX_STEPS}")
    parts = {place: _part(b, op, place) for place in (*range(1, 18), *_NORMS)}
    scalars = _scalars(b, op, any(b.tensor(op, place) is not None for place in _NORMS))
    b.state(op, state, T.TENSOR_QUANT8_ASYMM_SIGNED)
    b.state(op, cell, T.TENSOR_QUANT16_SYMM)
    code, quant, results = T.TENSOR_QUANT8_ASYMM_SIGNED, b.quant(op, out), []
    units = state.dims[-1]
    for source in _steps(b, op, x, axis, steps):
        inputs = (b.reshape(op, source, code, (batch, size), b.quant(op, x)), *(parts[k] for k in range(1, 18)),
                  b.current[state.index], b.current[cell.index], *(parts[k] for k in _NORMS), *scalars)
        result = b.temporary(code, (batch, units), *quant)
        b.emit(OperationType.QUANTIZED_LSTM, inputs, (b.next_state(op, state), b.next_state(op, cell), result))
        results.append(result)
    shape = (1, batch, units) if axis == 0 else (batch, 1, units)
    if steps == 1:
        b.reshape(op, results[0], code, shape, quant, target=b.output(op, shape))
        return
    rows = [b.reshape(op, result, code, shape, quant) for result in results]
    whole = (steps, batch, units) if axis == 0 else (batch, steps, units)
    b.emit(OperationType.CONCATENATION, (*rows, b.i32(axis)), (b.output(op, whole),))


def _part(b, op, place):
    """Operand of weights or a bias."""
    t, (code, kind, rank) = b.tensor(op, place), _TYPES[place]
    if t is None:
        scale = 0.0 if code == T.TENSOR_INT32 else 1.0
        return b.add(Operand(code, (0,) * rank, scale, lifetime=LifeTime.NO_VALUE))
    if t.type != kind or t.data is None or len(t.dims) != rank or 0 in t.dims:
        b.refuse(op, f"input {place} must be a constant {kind.name.lower()} tensor of rank {rank}")
    scale = 0.0
    if code != T.TENSOR_INT32:
        if len(t.scales) != 1 or not 0 < t.scales[0] < np.inf or any(t.zero_points):
            b.refuse(op, f"input {place} must have one scale above 0 and no zero point")
        scale = t.scales[0]
    return b.add(Operand(code, t.dims, scale, 0, LifeTime.CONSTANT_REFERENCE, None, t.array, t.name))


def _scalars(b, op, has_norm):
    """Clips, scales of the gates' sums, and the quantization of the hidden state.

    The standard subtracts the zero point; LiteRT too before a projection, otherwise it adds it.
    """
    if len(op.intermediates) != 5:
        b.refuse(op, f"has {len(op.intermediates)} intermediate tensors, must have 5")
    found = []
    for index in op.intermediates:
        if not 0 <= index < len(b.tensors):
            b.refuse(op, f"intermediate tensor[{index}] does not exist")
        t = b.tensors[index]
        found.append((t.scales[0], t.zero_points[0]) if t.scales else (0.0, 0))
    real = T.TENSOR_FLOAT32
    scales = [scale for scale, _ in found[:4]] if has_norm else [_GATE_SCALE] * 4
    scale, zero_point = found[4]
    if not -127 <= zero_point <= 127:
        b.refuse(op, f"hidden state has zero point {zero_point}, must be in [-127, 127]")
    zero_point = zero_point if b.tensor(op, 16) is not None else -zero_point
    clips = op.options.cell_clip, op.options.proj_clip
    return [*(b.real(real, value) for value in (*clips, *scales)), b.i32(zero_point), b.real(real, scale)]


def _steps(b, op, x, axis, steps):
    """Operands of the input's steps."""
    source = b.operand(op, x)
    if steps == 1:
        return [source]
    dims = tuple(1 if k == axis else size for k, size in enumerate(b.operands[source].dims))
    parts = [b.temporary(T.TENSOR_QUANT8_ASYMM_SIGNED, dims, *b.quant(op, x)) for _ in range(steps)]
    b.emit(OperationType.SPLIT, (source, b.i32(axis), b.i32(steps)), parts)
    return parts
