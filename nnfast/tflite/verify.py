"""Checked decoding of a `.tflite` file: nothing in it is used before it is known to be sound.

`decode` turns the bytes into plain records. Every read passes through `Tables`, which checks tables, vtables,
vectors, strings and alignment against the file's size; then `_check_model` holds the records against each other:
indexes, shapes, sizes, quantization, and that operators only read what exists.
"""

from math import inf, prod
from types import SimpleNamespace

import numpy as np

from .. import pace
from .._native.tables import Layout, Tables
from ..errors import InvalidArgument
from .schema import (
    BLOCKWISE,
    IDENTIFIER,
    INDEX_SLOTS,
    INDEX_VECTORS,
    ITEM_BITS,
    OPTIONS,
    OPTIONS_2,
    OPTIONS_2_SLOT,
    OPTIONS_SLOTS,
    TABLES,
    TENSOR_TYPES,
    VERSION,
    TensorType,
)

MAX_TABLES = 100_000
"""Tables in one file. Large models have a few ten thousand; the bound keeps crafted files from eating memory."""
MAX_RANK = 32
MAX_BYTES = (1 << 31) - 1
"""Bytes of one tensor."""

NORMALIZATION = 1
"""Number of NormalizationOptions among the options of a process unit."""

_LAYOUT = Layout({
    name: (*fields,
           *((("options_place", OPTIONS_SLOTS[name], "place options", None),) if name in OPTIONS_SLOTS else ()),
           *(((f"{held}_place", slot, f"place {held}", None) for held, slot in INDEX_SLOTS.items())
             if name == "DimensionMetadata" else ()),
           *((("options_2_place", OPTIONS_2_SLOT, "place builtin_options_2", None),) if name == "Operator" else ()))
    for name, fields in TABLES.items()})
_DEFAULTS = {name: {f[0]: f[3] for f in fields} for name, fields in TABLES.items()}


def _tables(data, label):
    return Tables(data, label, _LAYOUT, MAX_TABLES, pace.step)


def _read_indexes(decoder, model):
    """Give every sparse level its `segments` and `indices`: numbers, () where it has none."""
    for g, graph in enumerate(model.subgraphs):
        for t, tensor in enumerate(graph.tensors):
            for k, level in enumerate(tensor.sparsity.dim_metadata if tensor.sparsity else ()):
                path = f"model.subgraph[{g}].tensor[{t}].sparsity.dim_metadat[{k}]"
                for held in INDEX_SLOTS:
                    numbers = _index_vector(decoder, getattr(level, f"{held}_type"), getattr(level, f"{held}_place"),
                                            f"{path}.{held}")
                    setattr(level, held, numbers)


def _index_vector(decoder, kind, place, path):
    if not kind or place is None:
        return ()
    if kind not in INDEX_VECTORS:
        decoder.fail(path, f"is of type {kind}, must be 1 to {max(INDEX_VECTORS)}")
    return decoder.table(INDEX_VECTORS[kind], decoder.target(place, path), path).values


def decode(data, label):
    """Records of a model file, checked.

    data: read-only memoryview of bytes; label: file name for messages. Returns the tree of records of schema.TABLES;
    each operator gains `code`, `custom` and `options`, each buffer has its bytes in `data`, external or not.
    Raises InvalidArgument, one line with the place, for whatever is wrong.
    """
    check_identifier(data[:8], label)
    decoder = _tables(data, label)
    model = decoder.table("Model", decoder.target(0, "root"), "model")
    _read_indexes(decoder, model)
    _place_names(model)
    _check_model(decoder, model)
    return model


def decode_metadata(data, label):
    """Record of the model metadata in a buffer of a file; each process unit gains `options`, None of other kinds.

    Raises InvalidArgument for whatever is wrong.
    """
    decoder = _tables(memoryview(data), f"{label}: metadata")
    if len(data) < 8:
        decoder.fail("root", f"has {len(data)} bytes")
    model = decoder.table("ModelMetadata", decoder.target(0, "root"), "model")
    for graph in model.subgraphs:
        for tensor in (*graph.inputs, *graph.outputs):
            for unit in tensor.process_units:
                is_known = unit.options_type == NORMALIZATION and unit.options_place is not None
                unit.options = decoder.table("NormalizationOptions", decoder.target(unit.options_place, "options"),
                                             "options") if is_known else None
    return model


def check_identifier(start, label):
    """Refuse a file whose first eight bytes are not those of a TFLite model."""
    if bytes(start[4:8]) != IDENTIFIER:
        raise InvalidArgument(f"{label}: is not a TFLite model, bytes 4 to 7 must be {IDENTIFIER.decode()}; nnfast "
                              "reads .tflite files and those of Model.save, no other formats")


def _place_names(model):
    """Give every record the path that messages name it by."""
    for k, buffer in enumerate(model.buffers):
        buffer.path = f"buffer[{k}]"
    for g, graph in enumerate(model.subgraphs):
        graph.path = f"subgraph[{g}]"
        for k, tensor in enumerate(graph.tensors):
            tensor.path = f"subgraph[{g}].tensor[{k}]"
        for k, operator in enumerate(graph.operators):
            operator.path = f"subgraph[{g}].operator[{k}]"


def _check_model(decoder, model):
    if model.version != VERSION:
        decoder.fail("model", f"version is {model.version}, must be {VERSION}")
    if not model.subgraphs:
        decoder.fail("model", "has no subgraph")
    for buffer in model.buffers:
        _check_buffer(decoder, buffer)
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            _check_tensor(decoder, model, tensor)
            if tensor.blocks is not None:
                _check_index(decoder, tensor.path, "scales", tensor.blocks.scales, len(graph.tensors))
        for operator in graph.operators:
            _check_operator(decoder, model, graph, operator)
        _check_flow(decoder, model, graph)
    for k, signature in enumerate(model.signature_defs):
        path = f"signature_def[{k}]"
        _check_index(decoder, path, "subgraph", signature.subgraph_index, len(model.subgraphs))
        tensors = model.subgraphs[signature.subgraph_index].tensors
        for entry in (*signature.inputs, *signature.outputs):
            _check_index(decoder, path, "tensor", entry.tensor_index, len(tensors))


def _numbers(vector):
    """A vector of the file, an empty tuple where it has none, as Python numbers."""
    return tuple(vector.tolist()) if len(vector) else ()


def _check_index(decoder, path, what, index, count):
    if not 0 <= index < count:
        decoder.fail(path, f"{what} index is {index}, must be in [0, {count})")


def _check_buffer(decoder, buffer):
    """Resolve bytes that lie behind the flatbuffer (files beyond 2 GiB) into `data`."""
    if len(buffer.data) == 0:
        buffer.data = np.empty(0, np.uint8)
        if buffer.offset > 1 and buffer.size:
            if buffer.offset + buffer.size > decoder.size:
                end = buffer.offset + buffer.size
                decoder.fail(buffer.path, f"bytes {buffer.offset} to {end} are outside the {decoder.size} of the file")
            buffer.data = np.frombuffer(decoder.data, np.uint8, buffer.size, buffer.offset)


def _check_tensor(decoder, model, tensor):
    path = tensor.path
    if tensor.type not in TENSOR_TYPES:
        decoder.fail(path, f"type is {tensor.type}, must be 0 to {max(TensorType)}")
    _check_index(decoder, path, "buffer", tensor.buffer, max(len(model.buffers), 1))
    if len(tensor.shape) > MAX_RANK:
        decoder.fail(path, f"rank is {len(tensor.shape)}, must be at most {MAX_RANK}")
    shape = tensor.shape = _numbers(tensor.shape)
    if shape and min(shape) < 0:
        decoder.fail(path, f"shape {list(shape)} has a negative dimension")
    if len(tensor.shape_signature) not in (0, len(shape)):
        decoder.fail(path, f"shape_signature has {len(tensor.shape_signature)} dimensions, shape has {len(shape)}")
    signature = tensor.shape_signature = _numbers(tensor.shape_signature)
    if signature not in ((), shape) and any(s not in (-1, d) for d, s in zip(shape, signature)):
        decoder.fail(path, f"shape_signature {list(signature)} disagrees with shape {list(shape)}")
    # Buffer 0 stands for "no data", whatever it holds.
    data = model.buffers[tensor.buffer].data if tensor.buffer else ()
    tensor.data = data if len(data) else None
    bits = ITEM_BITS.get(tensor.type)
    if bits:
        needed = (prod(shape) * bits + 7) // 8
        if needed > MAX_BYTES:
            decoder.fail(path, f"shape {list(shape)} needs {needed} bytes, must be at most {MAX_BYTES}")
        if tensor.data is not None and not tensor.sparsity and needed != len(data):
            decoder.fail(path, f"shape {list(shape)} needs {needed} bytes, buffer[{tensor.buffer}] has {len(data)}")
    if tensor.is_variable and tensor.data is not None:
        decoder.fail(path, f"is a variable and has data in buffer[{tensor.buffer}], must have none")
    _check_quantization(decoder, path, shape, tensor)


def _check_quantization(decoder, path, shape, tensor):
    quantization = tensor.quantization
    tensor.scales, tensor.zero_points, tensor.channel_dim, tensor.blocks = (), (), 0, None
    if quantization is None:
        return
    if quantization.details_type == BLOCKWISE and quantization.options_place is not None:
        tensor.blocks = decoder.table("BlockwiseQuantization", decoder.target(quantization.options_place, path), path)
        return
    if not len(quantization.scale):
        return
    scales, points, dim = quantization.scale, quantization.zero_point, quantization.quantized_dimension
    if quantization.details_type:
        decoder.fail(path, "has custom quantization, must have scales and zero points only")
    if len(points) not in (0, len(scales)):
        decoder.fail(path, f"has {len(scales)} scales and {len(points)} zero points, must be as many")
    if len(scales) > 1:
        if not 0 <= dim < len(shape):
            decoder.fail(path, f"quantized_dimension is {dim}, must be in [0, {len(shape)})")
        if len(scales) != shape[dim]:
            decoder.fail(path, f"has {len(scales)} scales, dimension {dim} of shape {list(shape)} must be as many")
    tensor.scales = _numbers(scales)
    if not (0 <= scales.min() <= scales.max() < inf if len(scales) > 1 else 0 <= tensor.scales[0] < inf):
        decoder.fail(path, "has a scale that is negative or not finite")
    tensor.zero_points = _numbers(points) or (0,) * len(scales)
    tensor.channel_dim = dim


def _check_operator(decoder, model, graph, operator):
    path = operator.path
    _check_index(decoder, path, "operator code", operator.opcode_index, len(model.operator_codes))
    code = model.operator_codes[operator.opcode_index]
    # Old files only have the first field; new ones put 127 there for codes above it.
    operator.code = max(code.deprecated_builtin_code, code.builtin_code)
    operator.custom = code.custom_code
    operator.inputs, operator.outputs = _numbers(operator.inputs), _numbers(operator.outputs)
    for index in operator.inputs:
        if index != -1:
            _check_index(decoder, path, "input tensor", index, len(graph.tensors))
    for index in operator.outputs:
        if index != -1:
            _check_index(decoder, path, "output tensor", index, len(graph.tensors))
    number, table = OPTIONS.get(operator.code, (0, "NoOptions"))
    place, kind = operator.options_place, operator.options_type
    if operator.code in OPTIONS_2:
        (number, table), place, kind = OPTIONS_2[operator.code], operator.options_2_place, operator.options_2_type
    if not number or not kind or place is None:
        operator.options = SimpleNamespace(**_DEFAULTS[table])
    elif kind != number:
        decoder.fail(path, f"options are of type {kind}, must be {number} ({table})")
    else:
        at = f"{path}.options"
        operator.options = decoder.table(table, decoder.target(place, at), at)


def _check_flow(decoder, model, graph):
    """Operators read only constants, variables, graph inputs and earlier results; every tensor is written once."""
    path, count = graph.path, len(graph.tensors)
    graph.inputs, graph.outputs = (tuple(np.asarray(v, np.int32).tolist()) for v in (graph.inputs, graph.outputs))
    for role, indexes in (("input", graph.inputs), ("output", graph.outputs)):
        for index in indexes:
            _check_index(decoder, path, f"{role} tensor", index, count)
    if len(set(graph.inputs)) != len(graph.inputs):
        decoder.fail(path, "lists a tensor twice among its inputs")
    constant = {k for k, t in enumerate(graph.tensors) if t.data is not None}
    for index in graph.inputs:
        if index in constant or graph.tensors[index].is_variable:
            decoder.fail(path, f"input tensor[{index}] is a constant or a variable, must be neither")
    written = constant | set(graph.inputs)
    # A tensor without elements needs neither data nor a writer.
    known = written | {k for k, t in enumerate(graph.tensors) if t.is_variable or 0 in t.shape}
    for operator in graph.operators:
        for index in operator.inputs:
            if index != -1 and index not in known:
                decoder.fail(operator.path, f"reads tensor[{index}], which no earlier operator writes")
        for index in operator.outputs:
            if index in written:
                decoder.fail(operator.path, f"writes tensor[{index}], which has a value already")
            if index != -1:
                written.add(index)
                known.add(index)
    for index in graph.outputs:
        if index not in known:
            decoder.fail(path, f"output tensor[{index}] is written by no operator")
