"""Writes models as `.tflite` files, if every operation has a form there."""

import numpy as np

from ..checks import shown
from ..errors import InvalidArgument, UnsupportedOperator
from ..model.types import LifeTime, Model, OperandType, OperationType, operation_name, type_name
from ..model.validate import validate_model
from ..ops.base import Node, Tensor, ValueUnknown
from ..ops.registry import lookup
from ..ops.window import AXES, PADDINGS, SCHEME_SAME
from .schema import OPTIONS, VERSION, Builtin, TensorType
from .write import encode

T, OP = OperandType, OperationType
TYPES = {
    T.TENSOR_FLOAT32: TensorType.FLOAT32, T.TENSOR_FLOAT16: TensorType.FLOAT16, T.TENSOR_INT32: TensorType.INT32,
    T.TENSOR_QUANT8_ASYMM: TensorType.UINT8, T.TENSOR_BOOL8: TensorType.BOOL, T.TENSOR_QUANT16_SYMM: TensorType.INT16,
    T.TENSOR_QUANT8_ASYMM_SIGNED: TensorType.INT8, T.TENSOR_QUANT8_SYMM_PER_CHANNEL: TensorType.INT8,
}
SAME, VALID = 0, 1

PLAIN = {
    "ABS", "DEQUANTIZE", "ELU", "EQUAL", "EXP", "FLOOR", "GREATER", "GREATER_EQUAL", "HARD_SWISH", "LESS", "LESS_EQUAL",
    "LOG", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "LOGISTIC", "MAXIMUM", "MINIMUM", "NEG", "NOT_EQUAL", "PAD",
    "POW", "PRELU", "QUANTIZE", "RELU", "RELU6", "RSQRT", "SELECT", "SIN", "SLICE", "SQRT", "TANH", "TILE", "TRANSPOSE",
}
"""Operations that TFLite has under the same name, with tensor inputs only and no options."""
RENAMED = {"RELU1": "RELU_N1_TO_1", "REDUCE_SUM": "SUM"}


def to_tflite(model):
    """Bytes of a `.tflite` file equivalent to the model; inputs and outputs keep their names.

        pathlib.Path("model.tflite").write_bytes(nnfast.to_tflite(model))

    Loaded again, the file has LiteRT's arithmetic by default (docs/tflite.md). Raises UnsupportedOperator, which lists
    all operations that TFLite has no form of or that cannot be written yet; InvalidArgument for an invalid model, or
    for types that TFLite lacks.
    """
    if not isinstance(model, Model):
        raise InvalidArgument(f"to_tflite: got {shown(model)}, must be an nnfast.Model")
    validate_model(model)
    if model.states or model.referenced:
        raise InvalidArgument("to_tflite: the model has states or subgraphs, which are not written to .tflite files; "
                              "model.save keeps them")
    return encode("Model", _Export(model).record())


class _Refused(Exception):
    """The operation cannot be written; the message says why."""


class _Export:
    """The tables of a file under construction. Tensors are numbered in order of first use."""

    def __init__(self, model):
        self.model, self.graph = model, model.main
        self.tensors, self.buffers, self.codes, self.places = [], [{}], [], {}

    def record(self):
        """The Model table."""
        graph = self.graph
        try:
            inputs = [self.tensor(operand) for operand in graph.inputs]
        except _Refused as reason:
            raise InvalidArgument(f"to_tflite: an input {reason}") from None
        operators, refused = [], []
        for index, operation in enumerate(graph.operations):
            try:
                operators.append(self.operator(operation))
            except _Refused as reason:
                refused.append((operation_name(operation.type), index, str(reason)))
        if refused:
            raise UnsupportedOperator(*refused[0], others=refused[1:])
        outputs = [self.tensor(operand) for operand in graph.outputs]
        codes = [{"deprecated_builtin_code": min(code, 127), "builtin_code": code} for code in self.codes]
        name = self.model.name or "main"
        return {"version": VERSION, "operator_codes": codes, "buffers": self.buffers,
                "subgraphs": [{"tensors": self.tensors, "inputs": inputs, "outputs": outputs, "operators": operators,
                               "name": name}]}

    # -- tensors -----------------------------------------------------------------------------------------------------
    def tensor(self, operand):
        """Index of the tensor of an operand; -1 for one that is omitted."""
        o = self.graph.operands[operand]
        if o.lifetime == LifeTime.NO_VALUE:
            return -1
        if operand not in self.places:
            self.places[operand] = self._add(o)
        return self.places[operand]

    def _add(self, o, scales=()):
        kind = TYPES.get(o.type)
        if kind is None:
            raise _Refused(f"has an operand of {type_name(o.type)}, TFLite has no such tensors")
        record = {"shape": [d or 1 for d in o.dims], "type": int(kind), "name": o.name, "has_rank": bool(o.dims)}
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
            record["buffer"] = len(self.buffers)
            self.buffers.append({"data": np.ascontiguousarray(o.data)})
        self.tensors.append(record)
        return len(self.tensors) - 1

    # -- operators ---------------------------------------------------------------------------------------------------
    def operator(self, operation):
        """The Operator table of an operation. Raises _Refused."""
        name = operation_name(operation.type)
        form = _FORMS.get(operation.type)
        if form is not None:
            try:
                inputs, options = form(self, self.node(operation, name))
            except ValueUnknown:
                raise _Refused("computes one of its parameters, which are options in TFLite") from None
        elif name in PLAIN or name in RENAMED:
            inputs, options = map(self.tensor, operation.inputs), None
        else:
            raise _Refused("is not written to .tflite files")
        code = Builtin[RENAMED.get(name, name)]
        if code not in self.codes:
            self.codes.append(code)
        record = {"opcode_index": self.codes.index(code), "inputs": list(inputs),
                  "outputs": [self.tensor(operand) for operand in operation.outputs]}
        if options is not None:
            record["options_type"], table = OPTIONS[code]
            record["options"] = table, options
        return record

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
        return self._add(o, tuple((scale * np.float32(channels.scales)).tolist()))


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


_FORMS = {
    **dict.fromkeys((OP.ADD, OP.SUB, OP.MUL, OP.DIV), _activated), OP.CONV_2D: _convolution,
    OP.DEPTHWISE_CONV_2D: _convolution, OP.AVERAGE_POOL_2D: _pool, OP.MAX_POOL_2D: _pool,
    OP.FULLY_CONNECTED: _fully_connected, OP.SOFTMAX: _softmax, OP.RESHAPE: _reshape, OP.CONCATENATION: _concatenation,
    **dict.fromkeys((OP.MEAN, OP.REDUCE_MAX, OP.REDUCE_MIN, OP.REDUCE_SUM), _reduction),
}
"""Operation -> function(export, node) that gives tensor indexes and options."""
