"""LSTM of the basic kernel, as files of the first years have it: one matrix for all gates, of floats or of uint8."""

from ..errors import Error
from ..model.types import OperandType, OperationType
from .forms import one_scale
from .own import operand, result
from .rules import counts_of
from .schema import TensorType

T, KIND = OperandType, OperationType


def basic_lstm(b, op):
    """One step; hidden state and cell are variables of the file."""
    if len(op.inputs) != 5 or len(op.outputs) != 4 or -1 in (*op.inputs, *op.outputs):
        b.refuse(op, f"has {counts_of(len(op.inputs), len(op.outputs))}, the basic kernel has 5 and 4")
    if op.options.cell_clip or op.options.proj_clip:
        b.refuse(op, "clips its cell or its projection, the basic kernel does neither")
    x, hidden, weights, bias, cell = (b.tensor(op, place) for place in range(5))
    dims = b.dims(op, x)
    if len(dims) == 2 and not dims[0] and hidden.dims:  # states have as many rows
        dims = hidden.dims[0], dims[1]
    if len(dims) != 2 or 0 in dims or not hidden.dims or len(hidden.dims) != 2:
        b.refuse(op, f"input has shape {list(dims)}, must be known and of rank 2 as the state")
    batch, size, units = *dims, hidden.dims[1]
    shapes = (batch, units), (4 * units, size + units), (4 * units,), (batch, units)
    for t, shape in zip((hidden, weights, bias, cell), shapes):
        if t.dims != shape:
            b.refuse(op, f"tensor[{t.index}] {t.name!r} has shape {list(t.dims or ())}, must be {list(shape)}")
    if x.type == TensorType.UINT8:
        _of_codes(b, op, (x, hidden, weights, bias, cell))
    else:
        _of_floats(b, op, (x, hidden, weights, bias, cell), dims, units)


def _of_floats(b, op, tensors, dims, units):
    x, hidden, weights, bias, cell = tensors
    code, rows = T.TENSOR_FLOAT32, (dims[0], units)
    b.check_types(op, (code,), *tensors, *(b.result(op, place) for place in range(4)))
    before = [b.state(op, t, code) for t in (hidden, cell)]
    joined = b.output(op, (dims[0], dims[1] + units), 2)
    b.emit(KIND.CONCATENATION, (b.operand(op, x), before[0], b.i32(1)), (joined,))
    sums = b.output(op, (dims[0], 4 * units), 3)
    b.emit(KIND.FULLY_CONNECTED, (joined, b.operand(op, weights), b.operand(op, bias), b.i32(0)), (sums,))
    gates = [b.temporary(code, rows) for _ in range(4)]
    b.emit(KIND.SPLIT, (sums, b.i32(1), b.i32(4)), gates)

    def curve(kind, source):
        target = b.temporary(code, rows)
        b.emit(kind, (source,), (target,))
        return target

    def binary(kind, first, second, target=None):
        target = b.temporary(code, rows) if target is None else target
        b.emit(kind, (first, second, b.i32(0)), (target,))
        return target

    curves = KIND.LOGISTIC, KIND.TANH, KIND.LOGISTIC, KIND.LOGISTIC
    enter, candidate, forget, leave = map(curve, curves, gates)
    kept, new = binary(KIND.MUL, forget, before[1]), binary(KIND.MUL, enter, candidate)
    state = binary(KIND.ADD, new, kept, b.next_state(op, cell))
    output = binary(KIND.MUL, leave, curve(KIND.TANH, state), b.next_state(op, hidden))
    for place, source in enumerate((output, state)):
        b.reshape(op, source, code, rows, target=b.output(op, rows, place))


def _of_codes(b, op, tensors):
    x, hidden, weights, bias, cell = tensors
    scale, _ = one_scale(b, op, bias)
    before = b.state(op, hidden, T.TENSOR_QUANT8_ASYMM), b.state(op, cell, T.TENSOR_QUANT16_SYMM)
    inputs = operand(b, op, x), before[0], operand(b, op, weights), operand(b, op, bias), before[1], b.real(None, scale)
    results = [result(b, op, place) for place in range(4)]
    after, start = [b.next_state(op, t) for t in (hidden, cell)], len(b.operations)
    b.emit_own("TFL_BASIC_LSTM", inputs, (*after, *results[2:]))
    for source, target in zip(after, results):
        b.emit_own("TFL_COPY", (source,), (target,))
    try:
        b.follower.follow(start)
    except Error as error:
        b.refuse(op, str(error))
    for place, target in enumerate(results):
        b.current[op.outputs[place]] = target
