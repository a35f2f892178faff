"""Writes models as `.tflite` files, if every operation has a form there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ..checks import shown
from ..errors import InvalidArgument, UnsupportedOperator
from ..model import own
from ..model.types import (
    LifeTime,
    Model,
    Operand,
    OperandType,
    OperationType,
    is_extension,
    operation_name,
    type_name,
)
from ..model.validate import validate_model
from ..ops.base import Node, Tensor, ValueUnknown
from ..ops.own import BY_NAME as OWN
from ..ops.own import EXTENSION
from ..ops.registry import lookup
from ..ops.window import AXES, PADDINGS, SCHEME_SAME
from ..record import replace
from .schema import BUILTINS, OPTIONS, VERSION, Builtin, TensorType
from .schema import DTYPES as FILE_DTYPES
from .write import encode

if TYPE_CHECKING:
    from ..model.types import Model

T, OP = OperandType, OperationType
TYPES = {
    T.TENSOR_FLOAT32: TensorType.FLOAT32, T.TENSOR_FLOAT16: TensorType.FLOAT16, T.TENSOR_INT32: TensorType.INT32,
    T.TENSOR_QUANT8_ASYMM: TensorType.UINT8, T.TENSOR_BOOL8: TensorType.BOOL, T.TENSOR_QUANT16_SYMM: TensorType.INT16,
    T.TENSOR_QUANT8_ASYMM_SIGNED: TensorType.INT8, T.TENSOR_QUANT8_SYMM_PER_CHANNEL: TensorType.INT8,
    T.FLOAT32: TensorType.FLOAT32, T.FLOAT16: TensorType.FLOAT16, T.INT32: TensorType.INT32, T.BOOL: TensorType.BOOL,
}
OWN_TYPES = {number: kind for number, own_type in own.TYPES.items() for kind, dtype in FILE_DTYPES.items()
             if own_type.dtype == dtype and kind != TensorType.BOOL}
"""Number of a type of nnfast's own -> the file's."""
SAME, VALID = 0, 1

PLAIN = {
    "ABS", "DEQUANTIZE", "ELU", "EQUAL", "EXP", "FLOOR", "GREATER", "GREATER_EQUAL", "HARD_SWISH", "LESS", "LESS_EQUAL",
    "LOG", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "LOGISTIC", "MAXIMUM", "MINIMUM", "NEG", "NOT_EQUAL", "PAD",
    "POW", "PRELU", "QUANTIZE", "RELU", "RELU6", "RSQRT", "SELECT", "SIN", "SLICE", "SQRT", "TANH", "TILE", "TRANSPOSE",
}
"""Operations that TFLite has under the same name, with tensor inputs only and no options."""
RENAMED = {"RELU1": "RELU_N1_TO_1", "REDUCE_SUM": "SUM"}


def to_tflite(model: Model) -> bytes:
    """Bytes of a `.tflite` file equivalent to the model; inputs and outputs keep their names.

        pathlib.Path("model.tflite").write_bytes(nnfast.to_tflite(model))

    States become resource variables, the graphs of IF and WHILE subgraphs. Loaded again, the file has LiteRT's
    arithmetic by default (docs/tflite.md). Raises UnsupportedOperator, which lists all operations that TFLite has no
    form of or that cannot be written yet; InvalidArgument for an invalid model, or for types that TFLite lacks.
    """
    if not isinstance(model, Model):
        raise InvalidArgument(f"to_tflite: got {shown(model)}, must be an nnfast.Model")
    validate_model(model)
    return encode("Model", _File(model).record())


class _Refused(Exception):
    """The operation cannot be written; the message says why."""


class _File:
    """What the graphs of a file under construction share."""

    def __init__(self, model):
        self.model, self.buffers, self.codes, self.refused = model, [{}], [], []
        self.subgraphs, self.places = [None], {}
        self.prefix = dict(model.extensions).get(own.NAME)

    def record(self):
        """The Model table."""
        graph, states = self.model.main, self.model.states
        fed = {state.input for state in states}, {state.output for state in states}
        sides = [[operand for place, operand in enumerate(side) if place not in hidden]
                 for side, hidden in zip((graph.inputs, graph.outputs), fed)]
        main = _Graph(self, graph, "")
        try:
            self.subgraphs[0] = main.record(*sides, self.model.name or "main", states)
        except _Refused as reason:
            raise InvalidArgument(f"to_tflite: an input {reason}") from None
        if self.refused:
            raise UnsupportedOperator(*self.refused[0], others=self.refused[1:])
        codes = [{"deprecated_builtin_code": min(code, 127), "builtin_code": code} for code in self.codes]
        return {"version": VERSION, "operator_codes": codes, "buffers": self.buffers, "subgraphs": self.subgraphs}

    def subgraph(self, place, passed=0):
        """Number of the subgraph of Model.referenced[place], whose last `passed` inputs are outputs too."""
        if (place, passed) not in self.places:
            graph = self.model.referenced[place]
            self.places[place, passed] = number = len(self.subgraphs)
            self.subgraphs.append(None)
            outputs = (*graph.outputs, *graph.inputs[len(graph.inputs) - passed:])
            self.subgraphs[number] = _Graph(self, graph, f"in referenced[{place}]: ").record(
                graph.inputs, outputs, f"referenced {place}")
        return self.places[place, passed]

    def operator(self, code, inputs, outputs, **options):
        """The Operator table of an operator on tensors of a graph."""
        if code not in self.codes:
            self.codes.append(code)
        record = {"opcode_index": self.codes.index(code), "inputs": list(inputs), "outputs": list(outputs)}
        if options:
            record["options_type"], table = OPTIONS[code]
            record["options"] = table, options
        return record

    def constant(self, array):
        """Index of a buffer that holds an array."""
        self.buffers.append({"data": np.ascontiguousarray(array)})
        return len(self.buffers) - 1


def _number(code, prefix):
    """Id of an operation or type of nnfast's own, None for other codes. prefix: of its extension, or None."""
    if prefix is None or not is_extension(code) or code >> 16 != prefix:
        return None
    return code & 0xFFFF


class _Graph:
    """The tables of a graph. Tensors are numbered in order of first use."""

    def __init__(self, file, graph, where):
        self.file, self.graph, self.where = file, graph, where
        self.tensors, self.places, self.tied = [], {}, set()

    def record(self, inputs, outputs, name, states=()):
        """The SubGraph table, with these operands for inputs and outputs. Raises _Refused for their types."""
        sources = [self.tensor(operand) for operand in inputs]
        self.tied = self.layers(states)
        for state in states:
            if _pair(self.graph, state) in self.tied:
                self.tensor(self.graph.inputs[state.input], is_variable=True)
        before, after = self.kept([state for state in states if _pair(self.graph, state) not in self.tied])
        copied = {self.graph.outputs[state.output] for state in states}
        operators = []
        for index, operation in enumerate(self.graph.operations):
            label = self.label(operation)
            try:
                if label == "TFL_COPY" and (operation.outputs[0] in copied or self.where and self.is_free(operation)):
                    self.places[operation.outputs[0]] = self.tensor(operation.inputs[0])  # another name of the same
                else:
                    operators.append(self.operator(operation, label))
            except ValueUnknown:
                self.refuse(label, index, "computes one of its parameters, which are options in TFLite")
            except _Refused as reason:
                self.refuse(label, index, reason)
        if self.file.refused:
            return None
        return {"tensors": self.tensors, "inputs": sources, "outputs": [self.tensor(operand) for operand in outputs],
                "operators": [*before, *operators, *after()], "name": name}

    def refuse(self, label, index, reason):
        """Note an operation that cannot be written."""
        self.file.refused.append((label, index, f"{self.where}{reason}"))

    def is_free(self, operation):
        """Whether a subgraph may give back what an operation copies as it is: LiteRT wants a result, and that once."""
        source = operation.inputs[0]
        return self.graph.operands[source].lifetime == LifeTime.TEMPORARY_VARIABLE and \
            self.tensor(source) not in map(self.places.get, self.graph.outputs)

    def label(self, operation):
        """Name of an operation, also of nnfast's own."""
        number = _number(operation.type, self.file.prefix)
        found = None if number is None else EXTENSION.operations.get(number)
        return operation_name(operation.type) if found is None else found.name

    # -- states ------------------------------------------------------------------------------------------------------
    def layers(self, states):
        """{(operand, operand of the next value)} of states that recurrent layers keep alone, starting with zeros: these
        become variable tensors, the others resource variables.
        """
        found = {_pair(self.graph, state) for state in states
                 if state.initial is None or not np.any(state.initial)}
        read = Counter(operand for operation in self.graph.operations for operand in operation.inputs)
        pairs = {(operation.inputs[place], operation.outputs[after]) for operation in self.graph.operations
                 for place, after in _RECURRENT.get(operation.type, ({}, 0, ()))[0].items()
                 if place < len(operation.inputs) and after < len(operation.outputs)}
        return {pair for pair in found & pairs if read[pair[0]] == 1 and not read[pair[1]]}

    def kept(self, states):
        """(operators that read the states, function that gives those that store them)."""
        if not states:
            return [], list
        names = [f"state {k}" for k in range(len(states))]
        handles, reads = self.handles(names)
        reads.insert(0, self.file.operator(Builtin.CALL_ONCE, [], [], init_graph=self.first(states, names)))
        reads += [self.file.operator(Builtin.READ_VARIABLE, [handle], [self.tensor(self.graph.inputs[state.input])])
                  for handle, state in zip(handles, states)]

        def stores():
            return [self.file.operator(Builtin.ASSIGN_VARIABLE, [handle, self.tensor(self.graph.outputs[state.output])],
                                       []) for handle, state in zip(handles, states)]

        return reads, stores

    def handles(self, names):
        """(tensors of variables, operators that give them)."""
        start = len(self.tensors)
        self.tensors += [{"shape": [], "type": int(TensorType.RESOURCE), "name": name} for name in names]
        handles = range(start, start + len(names))
        return handles, [self.file.operator(Builtin.VAR_HANDLE, [], [handle], shared_name=name)
                         for handle, name in zip(handles, names)]

    def first(self, states, names):
        """Number of a new subgraph that stores the first values of the states."""
        graph = _Graph(self.file, self.graph, "")
        handles, operators = graph.handles(names)
        for handle, state in zip(handles, states):
            o = self.graph.operands[self.graph.inputs[state.input]]
            if state.initial is None and (0 in o.dims or not o.dims):
                raise _Refused(f"{o.name!r} is a state of unknown size, which TFLite's variables are not")
            value = np.full(o.dims, o.zero_point, o.dtype) if state.initial is None else state.initial
            constant = replace(o, lifetime=LifeTime.CONSTANT_COPY, data=value, dims=value.shape)
            operators.append(self.file.operator(Builtin.ASSIGN_VARIABLE, [handle, graph.add(constant)], []))
        self.file.subgraphs.append({"tensors": graph.tensors, "inputs": [], "outputs": [], "operators": operators,
                                    "name": "first values"})
        return len(self.file.subgraphs) - 1

    # -- tensors -----------------------------------------------------------------------------------------------------
    def tensor(self, operand, is_variable=False):
        """Index of the tensor of an operand; -1 for one that is omitted."""
        o = self.graph.operands[operand]
        if o.lifetime == LifeTime.NO_VALUE:
            return -1
        if operand not in self.places:
            self.places[operand] = self.add(o)
            if is_variable:
                self.tensors[-1]["is_variable"] = True
        return self.places[operand]

    def add(self, o, scales=()):
        """Index of a new tensor for an Operand. scales: instead of its own. Raises _Refused."""
        number = _number(o.type, self.file.prefix)
        kind = TYPES.get(o.type) if number is None else OWN_TYPES.get(number)
        if kind is None:
            raise _Refused(f"has an operand of {type_name(o.type)}, TFLite has no such tensors")
        record = {"shape": [d or 1 for d in o.dims], "type": int(kind), "name": o.name,
                  "has_rank": bool(o.dims)}
        if 0 in o.dims:
            record["shape_signature"] = [d or -1 for d in o.dims]
        if o.channel_quant is not None:
            scales = o.channel_quant.scales
            record["quantization"] = {"scale": scales, "zero_point": [0] * len(scales),
                                      "quantized_dimension": o.channel_quant.dim}
        elif scales or o.scale:
            scales = scales or (o.scale,)
            record["quantization"] = {"scale": scales, "zero_point": [o.zero_point] * len(scales)}
        if o.is_constant:
            record["buffer"] = self.file.constant(o.data)
        self.tensors.append(record)
        return len(self.tensors) - 1

    # -- operators ---------------------------------------------------------------------------------------------------
    def operator(self, operation, name):
        """The Operator table of an operation. Raises _Refused."""
        if operation.type in (OP.IF, OP.WHILE):
            return self.control(operation)
        if operation.type in _RECURRENT:
            return self.recurrent(operation, self.node(operation, name))
        if name in _OWN:
            return _OWN[name](self, operation)
        form = _FORMS.get(operation.type)
        if form is not None:
            inputs, options = form(self, self.node(operation, name))
        elif name in PLAIN or name in RENAMED:
            inputs, options = map(self.tensor, operation.inputs), None
        else:
            raise _Refused("is not written to .tflite files")
        outputs = map(self.tensor, operation.outputs)
        return self.file.operator(BUILTINS[RENAMED.get(name, name)], inputs, outputs, **options or {})

    def control(self, operation):
        """IF, or WHILE whose values that the loop does not change become its results too."""
        graphs = [self.graph.operands[k].subgraph for k in operation.inputs
                  if self.graph.operands[k].lifetime == LifeTime.SUBGRAPH]
        tensors = [self.tensor(k) for k in operation.inputs
                   if self.graph.operands[k].lifetime != LifeTime.SUBGRAPH]
        results = [self.tensor(k) for k in operation.outputs]
        if operation.type == OP.IF:
            then, other = map(self.file.subgraph, graphs)
            return self.file.operator(Builtin.IF, tensors, results, then_graph=then, else_graph=other)
        values = operation.inputs[2:]
        body = self.file.model.referenced[graphs[1]]
        results += [self.add(replace(self.graph.operands[k], lifetime=LifeTime.TEMPORARY_VARIABLE, data=None, name=""))
                    for k in values[len(results):]]
        return self.file.operator(Builtin.WHILE, tensors, results, condition_graph=self.file.subgraph(graphs[0]),
                                  body_graph=self.file.subgraph(graphs[1], len(values) - len(body.outputs)))

    def recurrent(self, operation, node):
        """A layer that keeps its states in variable tensors."""
        states, output, scalars = _RECURRENT[operation.type]
        for place, after in states.items():
            if after >= len(operation.outputs) or (operation.inputs[place], operation.outputs[after]) not in self.tied:
                raise _Refused("has a state that the model does not keep for it alone from zeros on, as TFLite does")
        count = max(states) + 1
        norm = operation.inputs[count + len(scalars):]
        if all(self.graph.operands[k].lifetime == LifeTime.NO_VALUE for k in norm):
            norm = ()
        options = {name: node.scalar(name) for name in scalars}
        return self.file.operator(BUILTINS[node.op.name], map(self.tensor, (*operation.inputs[:count], *norm)),
                                  [self.tensor(operation.outputs[output])], **options)

    def node(self, operation, name):
        """The operation with its operands by name."""
        def seen(operand):
            o = self.graph.operands[operand]
            return Tensor(operand, o.type, o.shape, o.scale, o.zero_point, o.channel_quant, o.data,
                          o.lifetime != LifeTime.NO_VALUE)

        return Node(lookup(operation.type), name, map(seen, operation.inputs), map(seen, operation.outputs))

    def bias(self, node):
        """Index of the tensor of a bias, with a scale for each channel where the filter has one."""
        operand, channels = node["bias"].operand, node["filter"].channel_quant
        o = self.graph.operands[operand]
        if channels is None or not o.is_constant:
            return self.tensor(operand)
        scale = np.float32(node["input"].scale)
        return self.add(o, tuple((scale * np.float32(channels.scales)).tolist()))


def _pair(graph, state):
    """(operand of a state, operand of its next value)."""
    return graph.inputs[state.input], graph.outputs[state.output]


def _activated(export, node):
    """Two tensors and an activation."""
    return [export.tensor(t.operand) for t in node.inputs[:2]], {"activation": node.scalar("activation")}


def _window(node, sizes):
    """Padding and stride options; sizes: (height, width) that the window covers. Raises _Refused."""
    if node.layout_nchw:
        raise _Refused("has the layout NCHW, TFLite has NHWC")
    strides = {f"stride_{axis[0]}": node.scalar(f"stride_{axis}") for axis in AXES}
    scheme = node.scalar("padding_scheme")
    if scheme is not None:
        return {"padding": SAME if scheme == SCHEME_SAME else VALID, **strides}
    pads = [tuple(map(node.scalar, names)) for names in PADDINGS]
    if not any(map(any, pads)):
        return {"padding": VALID, **strides}
    shape, same = node["input"].shape, []
    for place, axis in enumerate(AXES):
        size, stride = shape and shape[1 + place], node.scalar(f"stride_{axis}")
        total = max((-(-size // stride) - 1) * stride + sizes[place] - size, 0) if size else 0
        same.append((total // 2, total - total // 2))
    if pads != same:
        raise _Refused(f"pads by {pads[0]} in height and {pads[1]} in width, TFLite has SAME and VALID")
    return {"padding": SAME, **strides}


def _convolution(export, node):
    shape = node["filter"].shape
    dilations = {f"dilation_{axis[0]}": node.scalar(f"dilation_{axis}", 1) for axis in AXES}
    covered = [(shape[1 + place] - 1) * dilation + 1 for place, dilation in enumerate(dilations.values())]
    options = _window(node, covered) | dilations | {"activation": node.scalar("activation")}
    if node.op.type == OP.DEPTHWISE_CONV_2D:
        options["depth_multiplier"] = node.scalar("depth_multiplier")
    tensors = [export.tensor(node[name].operand) for name in ("input", "filter")]
    return [*tensors, export.bias(node)], options


def _pool(export, node):
    sizes = [node.scalar(f"filter_{axis}") for axis in AXES]
    return [export.tensor(node["input"].operand)], _window(node, sizes) | {
        "filter_h": sizes[0], "filter_w": sizes[1], "activation": node.scalar("activation")}


def _fully_connected(export, node):
    return [export.tensor(t.operand) for t in node.inputs[:3]], {"activation": node.scalar("activation")}


def _softmax(export, node):
    shape = node["input"].shape
    if node.scalar("axis", -1) not in (-1, len(shape or ()) - 1):
        raise _Refused("is along another than the last dimension")
    return [export.tensor(node["input"].operand)], {"beta": node.scalar("beta")}


def _reshape(export, node):
    return [export.tensor(t.operand) for t in node.inputs], {"new_shape": node.value("shape")}


def _concatenation(export, node):
    return [export.tensor(t.operand) for t in node.inputs[:-1]], {"axis": node.scalar("axis")}


def _reduction(export, node):
    return [export.tensor(t.operand) for t in node.inputs[:2]], {"keep_dims": bool(node.scalar("keep_dims"))}


def _named(code, **fixed):
    """Form of an operation of nnfast's own that has the operator's tensors; fixed: values of options."""
    def form(export, operation):
        return export.file.operator(code, map(export.tensor, operation.inputs), map(export.tensor, operation.outputs),
                                    **fixed)
    return form


def _own_activated(code):
    def form(export, operation):
        *tensors, activation = operation.inputs
        return export.file.operator(code, map(export.tensor, tensors), map(export.tensor, operation.outputs),
                                    activation=int(export.graph.operands[activation].data))
    return form


def _extreme(export, node):
    """Two tensors in the other order: of a number and a NaN NNAPI takes the first, TFLite the second."""
    return [export.tensor(t.operand) for t in reversed(node.inputs)], None


def _copy(export, operation):
    """A RESHAPE to the same shape."""
    o = export.graph.operands[operation.outputs[0]]
    return _to_shape(export, operation, [d or -1 for d in o.dims])


def _to_shape(export, operation, dims):
    if not dims or dims.count(-1) > 1:
        raise _Refused(f"copies a tensor of shape {dims}, TFLite's RESHAPE takes at most one unknown dimension")
    shape = Operand(T.TENSOR_INT32, (len(dims),), lifetime=LifeTime.CONSTANT_COPY, data=np.array(dims, np.int32))
    tensors = [export.tensor(operation.inputs[0]), export.add(shape)]
    return export.file.operator(Builtin.RESHAPE, tensors, map(export.tensor, operation.outputs), new_shape=dims)


_FORMS = {
    **dict.fromkeys((OP.ADD, OP.SUB, OP.MUL, OP.DIV), _activated), OP.CONV_2D: _convolution,
    OP.DEPTHWISE_CONV_2D: _convolution, OP.AVERAGE_POOL_2D: _pool, OP.MAX_POOL_2D: _pool,
    OP.FULLY_CONNECTED: _fully_connected, OP.SOFTMAX: _softmax, OP.RESHAPE: _reshape, OP.CONCATENATION: _concatenation,
    **dict.fromkeys((OP.MAXIMUM, OP.MINIMUM), _extreme),
    **dict.fromkeys((OP.MEAN, OP.REDUCE_MAX, OP.REDUCE_MIN, OP.REDUCE_SUM), _reduction),
}
"""Operation -> function(export, node) that gives tensor indexes and options."""

_RECURRENT = {
    OP.RNN: ({4: 0}, 1, ("activation",)), OP.UNIDIRECTIONAL_SEQUENCE_RNN: ({4: 1}, 0, ("activation", "time_major")),
    OP.SVDF: ({4: 0}, 1, ("rank", "activation")),
    OP.LSTM: ({18: 1, 19: 2}, 3, ("activation", "cell_clip", "proj_clip")),
    OP.UNIDIRECTIONAL_SEQUENCE_LSTM: ({18: 1, 19: 2}, 0, ("activation", "cell_clip", "proj_clip", "time_major")),
}
"""Layer -> ({place of a state: place of its next value}, place of the output, options behind the states)."""

_OWN = {
    "TFL_COPY": _copy, "TFL_RANK_0": _named(Builtin.SQUEEZE, squeeze_dims=[0]),
    "TFL_RANK_1": lambda export, operation: _to_shape(export, operation, [1]),
    **{f"TFL_{name}": _own_activated(BUILTINS[name]) for name in ("ADD", "DIV", "MUL", "SUB")},
    **{f"TFL_{name}": _named(BUILTINS[name]) for name in (
        *(name for name in sorted(PLAIN - {"SELECT"}) if f"TFL_{name}" in OWN), "BITCAST", "CAST", "FLOOR_DIV",
        "FLOOR_MOD", "SQUARE", "SQUARED_DIFFERENCE")},
}
"""Operation of nnfast's own -> function(graph, operation) that gives the Operator table."""
