"""Builds small `.tflite` files for the tests, with the flatbuffers builder and the tflite package."""

from dataclasses import dataclass, field

import flatbuffers
import numpy as np
import tflite

TYPES = {
    "float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "string": 5, "bool": 6, "int16": 7,
    "complex64": 8, "int8": 9, "float64": 10, "complex128": 11, "uint64": 12, "resource": 13, "uint32": 15, "int4": 17,
    "bfloat16": 18,
}


@dataclass
class Tensor:
    """A tensor of the file: name, shape, dtype name, constant data, quantization."""

    name: str
    shape: tuple
    dtype: str = "float32"
    data: np.ndarray | None = None
    scale: float | list | None = None
    zero_point: int | list = 0
    dim: int = 0
    variable: bool = False
    signature: tuple | None = None
    has_rank: bool = True

    @classmethod
    def of(cls, name, array, **more):
        """A constant with the array's shape and type."""
        array = np.asarray(array)
        return cls(name, array.shape, str(array.dtype), array, **more)


@dataclass
class Op:
    """An operator: builtin name (or any other text: custom), tensor names (None = omitted), options.

    Vectors among the options are lists (int32) or arrays. custom: bytes of a custom operator's options; intermediates:
    names of tensors that are there for their quantization.
    """

    name: str
    inputs: list
    outputs: list
    options: str | None = None
    fields: dict = field(default_factory=dict)
    custom: bytes | None = None
    intermediates: tuple = ()


def _table(builder, kind, fields):
    module = getattr(tflite, f"{kind}Start")
    module(builder)
    for name, value in fields.items():
        getattr(tflite, f"{kind}Add{name}")(builder, value)
    return getattr(tflite, f"{kind}End")(builder)


def _ints(builder, values):
    return builder.CreateNumpyVector(np.asarray(values, np.int32))


def _vector(builder, values):
    return builder.CreateNumpyVector(values) if isinstance(values, np.ndarray) else _ints(builder, values)


def _tables(builder, offsets):
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def _tensor(builder, t, buffer):
    name = builder.CreateString(t.name)
    fields = {"Shape": _ints(builder, t.shape), "Type": TYPES[t.dtype], "Buffer": buffer, "Name": name}
    if t.scale is not None:
        scales = np.atleast_1d(np.asarray(t.scale, np.float32))
        points = np.broadcast_to(np.asarray(t.zero_point, np.int64), scales.shape).copy()
        parts = {"Scale": builder.CreateNumpyVector(scales), "ZeroPoint": builder.CreateNumpyVector(points),
                 "QuantizedDimension": t.dim}
        fields["Quantization"] = _table(builder, "QuantizationParameters", parts)
    if t.signature is not None:
        fields["ShapeSignature"] = _ints(builder, t.signature)
    fields["IsVariable"], fields["HasRank"] = t.variable, t.has_rank
    return _table(builder, "Tensor", fields)


def _operator(builder, op, opcode, index):
    fields = {"OpcodeIndex": opcode, "Inputs": _ints(builder, [index[n] for n in op.inputs]),
              "Outputs": _ints(builder, [index[n] for n in op.outputs])}
    if op.options:
        values = {k: _vector(builder, v) if isinstance(v, list | np.ndarray) else v for k, v in op.fields.items()}
        union = "BuiltinOptions" if hasattr(tflite.BuiltinOptions, op.options) else "BuiltinOptions2"
        fields[union] = _table(builder, op.options, values)
        fields[f"{union}Type"] = getattr(getattr(tflite, union), op.options)
    if op.intermediates:
        fields["Intermediates"] = _ints(builder, [index[n] for n in op.intermediates])
    if op.custom is not None:
        fields["CustomOptions"] = builder.CreateNumpyVector(np.frombuffer(op.custom, np.uint8))
    return _table(builder, "Operator", fields)


def _signature(builder, pairs, index):
    maps = []
    for tensor, name in pairs.items():
        text = builder.CreateString(name)
        maps.append(_table(builder, "TensorMap", {"Name": text, "TensorIndex": index[tensor]}))
    return _tables(builder, maps)


def build(tensors, operators, inputs, outputs, signature=None, external=False, version=3, graphs=1,
          others=(), signatures=(), metadata=None):
    """Bytes of a model file.

    signature: ({input tensor: name}, {output tensor: name}) of "serving_default", on the first subgraph; signatures:
    (key, number of the subgraph, {input tensor: name}, {output tensor: name}) of all, instead of it; metadata: bytes
    of the model's metadata; external:
    constants lie behind the flatbuffer, reached by
    Buffer.offset and size; graphs: how often the subgraph is listed; others: (tensors,
    operators, inputs, outputs) of the subgraphs behind it.
    """
    # Offsets of external data are only known once the flatbuffer has its size: build twice, sizes do not change.
    if signature:
        signatures = [("serving_default", 0, *signature)]
    data = _build(tensors, operators, inputs, outputs, signatures, external, version, graphs, 16, others, metadata)
    if not external:
        return data
    base = (len(data) + 15) // 16 * 16
    data = _build(tensors, operators, inputs, outputs, signatures, external, version, graphs, base, others, metadata)
    blobs = b"".join(_padded(t.data) for t in tensors if t.data is not None)
    return data + bytes(base - len(data)) + blobs


def _padded(array):
    raw = array.tobytes()
    return raw + bytes(-len(raw) % 16)


def _graph(builder, tensors, operators, inputs, outputs, names, buffers, external, base):
    """(subgraph, where external data goes on); buffers grow by the constants."""
    index = {t.name: k for k, t in enumerate(tensors)} | {None: -1}
    records = []
    for t in tensors:
        buffer = 0
        if t.data is not None:
            buffer = len(buffers)
            if external:
                buffers.append(_table(builder, "Buffer", {"Offset": base, "Size": t.data.nbytes}))
                base += len(_padded(t.data))
            else:
                raw = builder.CreateNumpyVector(np.frombuffer(t.data.tobytes(), np.uint8))
                buffers.append(_table(builder, "Buffer", {"Data": raw}))
        records.append(_tensor(builder, t, buffer))
    ops = [_operator(builder, op, names.index(op.name), index) for op in operators]
    return _table(builder, "SubGraph", {
        "Tensors": _tables(builder, records), "Inputs": _ints(builder, [index[n] for n in inputs]),
        "Outputs": _ints(builder, [index[n] for n in outputs]), "Operators": _tables(builder, ops),
        "Name": builder.CreateString("main"),
    }), base


def _build(tensors, operators, inputs, outputs, signatures, external, version, graphs, base, others, metadata):
    builder = flatbuffers.Builder(1024)
    buffers = [_table(builder, "Buffer", {})]
    parts = [(tensors, operators, inputs, outputs), *others]
    names = list(dict.fromkeys(op.name for part in parts for op in part[1]))
    codes = []
    for name in names:
        number = getattr(tflite.BuiltinOperator, name, tflite.BuiltinOperator.CUSTOM)
        fields = {"DeprecatedBuiltinCode": min(number, 127), "BuiltinCode": number, "Version": 1}
        if number == tflite.BuiltinOperator.CUSTOM:
            fields["CustomCode"] = builder.CreateString(name)
        codes.append(_table(builder, "OperatorCode", fields))
    written = []
    for part in parts:
        graph, base = _graph(builder, *part, names, buffers, external, base)
        written.append(graph)
    if metadata is not None:
        content = builder.CreateNumpyVector(np.frombuffer(metadata, np.uint8))
        buffers.append(_table(builder, "Buffer", {"Data": content}))
        entry = {"Name": builder.CreateString("TFLITE_METADATA"), "Buffer": len(buffers) - 1}
        notes = _tables(builder, [_table(builder, "Metadata", entry)])
    fields = {"Version": version, "OperatorCodes": _tables(builder, codes),
              "Subgraphs": _tables(builder, written[:1] * graphs + written[1:]), "Buffers": _tables(builder, buffers),
              "Description": builder.CreateString("built for a test")}
    if metadata is not None:
        fields["Metadata"] = notes
    entries = []
    for key, graph, *sides in signatures:
        index = {t.name: k for k, t in enumerate(parts[graph][0])}
        names = dict(zip(("Inputs", "Outputs"), (_signature(builder, side, index) for side in sides)))
        entries.append(_table(builder, "SignatureDef", names | {"SignatureKey": builder.CreateString(key),
                                                                "SubgraphIndex": graph}))
    if entries:
        fields["SignatureDefs"] = _tables(builder, entries)
    builder.Finish(_table(builder, "Model", fields), file_identifier=b"TFL3")
    return bytes(builder.Output())
