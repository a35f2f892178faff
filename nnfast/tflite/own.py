"""nnfast's own operations in a translated graph, for operators that the standard has no form of.

During construction, own types and operations are held as objects; `coded` replaces them by their codes at the end.
"""

from math import isfinite

import numpy as np

from ..errors import Error
from ..model import own
from ..model.types import Definition, LifeTime, Operand, OperandType
from ..ops.own import BY_NAME as OWN_OPERATIONS
from ..record import replace
from .schema import DTYPES as FILE_DTYPES
from .schema import TensorType

T = OperandType
_SCALARS = {T.TENSOR_FLOAT32: T.FLOAT32, T.TENSOR_FLOAT16: T.FLOAT16, T.TENSOR_INT32: T.INT32, T.TENSOR_BOOL8: T.BOOL}

EXTENDED = {}
"""Builtin code, or name of a custom operator -> function(builder, operator) that translates what NNAPI has no form of.
"""


def extends(*codes):
    """Register a function as the translation of operators, or of their forms, that the standard lacks."""
    def register(function):
        for code in codes:
            EXTENDED[code] = function
        return function
    return register


def operand(b, op, t):
    """Operand of a tensor of any type, of rank 0 if the file's tensor is. t: None for an omitted input."""
    if t is None:
        return b.add(Operand(T.TENSOR_FLOAT32, lifetime=LifeTime.NO_VALUE))
    if t.index in b.rank_0:
        return b.rank_0[t.index]
    index = b.current.get(t.index, b.constants.get(t.index))
    if index is None:
        if t.is_variable:
            b.operand(op, t)  # raises
        index = b.constants[t.index] = _constant(b, op, t)
    if t.dims == () and not b.operands[index].is_scalar:
        index = b.rank_0[t.index] = _reshaped(b, "TFL_RANK_0", index, ())
    return index


def _constant(b, op, t):
    code, scale, point, channels = b.any_type(op, t)
    if t.data is None:
        return b.empty(op, t)
    if t.dims == () and (code in _SCALARS or isinstance(code, Definition)):
        code = _SCALARS[code] if code in _SCALARS else own.SCALAR_OF[code.dtype]
        return b.add(Operand(code, (), lifetime=LifeTime.CONSTANT_REFERENCE, data=t.array, name=t.name))
    dims = t.dims or (1,)
    array = t.array.reshape(dims).view(_dtype(code))
    return b.add(Operand(code, dims, scale, point, LifeTime.CONSTANT_REFERENCE, channels, array, t.name))


def _dtype(code):
    return Operand(code).dtype


def _reshaped(b, name, index, dims):
    target = b.like(index, b.operands[index].name, dims)
    b.emit_own(name, [index], [target])
    return target


def result(b, op, place, dims=None):
    """Operand for a result of any type. dims: used instead of the file's."""
    t = b.result(op, place)
    code, scale, point, channels = b.any_type(op, t)
    dims = b.channel_dims(op, t, t.dims or () if dims is None else dims, channels)
    b.check_size(op, dims)
    return b.temporary(code, dims, scale, point, t.name, channels)


def new_size(b, op):
    """(height, width) operands of a RESIZE operator's size, which may be computed."""
    size = b.tensor(op, 1)
    if b.is_constant(size) or size.type != TensorType.INT32:
        height, width = map(b.i32, b.image_size(op))
    else:
        height, width = (b.add(Operand(T.INT32)) for _ in range(2))
        b.emit_own("TFL_SCALARS", (b.operand(op, size),), (height, width))
    return height, width


def resize(b, op, name):
    """A RESIZE operator as an operation of nnfast's own that keeps the codes."""
    b.check_counts(op, 2)
    (height, width), options = new_size(b, op), op.options
    scalars = [width, height, b.bool(False), b.bool(options.align_corners), b.bool(options.half_pixel_centers)]
    translate(b, op, name, scalars, [b.tensor(op, 0)])


def raw_result(b, op, place):
    """As result, as plain integers without quantization: for codes that no quantized type of ours covers."""
    t = b.result(op, place)
    return b.temporary(own.TENSOR_OF[FILE_DTYPES[t.type]], t.dims or (), name=t.name)


def scalar(b, op, value):
    """Operand of an option: a bool, an int of 32 bits or a float."""
    if isinstance(value, bool):
        return b.bool(value)
    if not isinstance(value, int | float) or not isfinite(value) or \
            isinstance(value, int) and not -1 << 31 <= value < 1 << 31:
        b.refuse(op, f"has an option {value}, must be a finite number, of 32 bits where it is whole")
    return b.i32(value) if isinstance(value, int) else b.real(None, value)


def translate(b, op, name, parameters=(), inputs=None):
    """The operator as one operation of nnfast's own (or of a vendor: a Definition) on all its tensors, followed by
    operands of parameters.

    inputs: FileTensors in the place of the operator's.
    """
    if -1 in op.outputs:
        b.refuse(op, "omits a result")
    tensors = [b.tensor(op, place) for place in range(len(op.inputs))] if inputs is None else inputs
    start = len(b.operations)
    sources = [operand(b, op, t) for t in tensors]
    # Shapes that depend on data may differ from the file's, which are from the converter's sample data.
    is_open = isinstance(name, str) and OWN_OPERATIONS[name].op.data_dependent
    results = [result(b, op, place, () if is_open else None) for place in range(len(op.outputs))]
    b.emit_own(name, [*sources, *parameters], results)
    try:
        b.follower.follow(start)
    except Error as error:
        b.refuse(op, str(error))
    for index, place in zip(results, op.outputs):
        t = b.tensors[place]
        if t.dims == () or b.follower.shape(index) == ():
            b.rank_0[t.index] = index
            index = _reshaped(b, "TFL_RANK_1", index, (1,))
        b.current[t.index] = index


def coded(graph, extensions):
    """The Subgraph with types and operations of extensions replaced by their codes, as found by extensions_of."""
    prefixes = dict(extensions)
    operands = tuple(_coded(o, prefixes) if isinstance(o.type, Definition) else o for o in graph.operands)
    operations = tuple(replace(o, type=_code(o.type, prefixes)) if isinstance(o.type, Definition) else o
                       for o in graph.operations)
    return replace(graph, operands=operands, operations=operations)


def _coded(o, prefixes):
    data = o.data
    if data is not None:
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        data.flags.writeable = False
    return replace(o, type=_code(o.type, prefixes), data=data)


def _code(definition, prefixes):
    return prefixes[definition.extension] << 16 | definition.id


def extensions_of(*graphs):
    """Model.extensions of a model with these graphs, before they are coded."""
    names = dict.fromkeys(part.type.extension for graph in graphs for part in (*graph.operands, *graph.operations)
                          if isinstance(part.type, Definition))
    return tuple((name, own.PREFIX if name == own.NAME else place) for place, name in enumerate(names, 1))
