"""From a path or bytes to a canonical model: reads, validates and translates a file."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import numpy as np

from .. import trace, vlog
from ..checks import kind_of, shown
from ..errors import InvalidArgument
from ..forks import importing
from ..model import own, proof
from ..model.file import is_saved
from ..model.mapped import read_file
from ..model.types import ARITHMETICS, Signature
from ..record import record, replace
from .apart import apart
from .builder import Builder
from .schema import CUSTOM, DTYPES, TensorType, operator_name
from .shapes import wanted
from .states import NOTHING_HELD
from .strings import numbered
from .translate import translate
from .verify import check_identifier, decode, decode_metadata

if TYPE_CHECKING:
    from .. import typed
    from ..model.types import Model

METADATA = "TFLITE_METADATA"


@record(frozen=True, slots=True, eq=False)
class FileTensor:
    """A tensor of the file.

    dims: 0 = unknown (shape_signature -1), None = unknown rank, () = a single value; data: the bytes of a constant as a
    read-only view of the file, or None; scales and zero_points: () without quantization. shape, signature: as they
    stand in the file, the signature () where there is none. blocks: of scales for blocks, None where there are none.
    is_narrow: the type is int8 for results that the file has in 4 bits.
    """

    index: int
    name: str
    type: int
    dims: tuple | None
    data: np.ndarray | None
    buffer: int
    scales: tuple
    zero_points: tuple
    channel_dim: int
    is_variable: bool
    sparsity: object
    shape: tuple
    signature: tuple
    blocks: object = None
    is_narrow: bool = False

    @property
    def is_empty(self):
        """Whether the file gives the whole shape, and a size in it is 0."""
        return self.dims is not None and 0 in self.dims and self.dims == self.shape and -1 not in self.signature

    @property
    def is_sparse(self):
        return self.sparsity is not None

    @property
    def array(self):
        """Value of a constant with its shape, read-only; a view of the file where the file's alignment allows one."""
        dtype = DTYPES.get(self.type)
        if dtype is None:
            raise InvalidArgument(f"tensor[{self.index}] is of type {TensorType(self.type).name.lower()}, must hold "
                                  "numbers")
        values = self.data.view(dtype).reshape(self.dims)
        if not values.flags.aligned:
            values = values.copy()
            values.flags.writeable = False
        return values


@record(frozen=True, slots=True)
class FileOperator:
    """An operator of the file: its place, builtin code, name, tensor indexes (-1 = omitted) and options.

    custom: name of a custom operator ("" for builtin ones), whose options are the file's bytes. intermediates: tensor
    indexes, unchecked, of what is only there for its quantization.
    """

    index: int
    code: int
    name: str
    inputs: tuple
    outputs: tuple
    options: object
    custom: str = ""
    intermediates: tuple = ()


@record(frozen=True, slots=True)
class FileGraph:
    """A subgraph of the file: FileTensors, FileOperators, and the tensor indexes of its inputs and outputs."""

    tensors: tuple
    operators: tuple
    inputs: tuple
    outputs: tuple


@record(frozen=True, slots=True)
class FileSignature:
    """A signature of the file: its key, the number of its subgraph, and {name: tensor index} of inputs and outputs."""

    key: str
    graph: int
    inputs: dict
    outputs: dict


@vlog.log_errors(vlog.MODEL, "load")
def load(source: typed.FilePath | typed.Buffer, relaxed: bool = False, arithmetic: typed.Arithmetic = "litert",
         signature: str | None = None, input_shapes: typed.InputShapes | None = None) -> Model:
    """The nnfast.Model of a `.tflite` file, or of a file written by Model.save (which has its own arithmetic).

        model = nnfast.load("model.tflite", input_shapes={"image": (8, 224, 224, 3)})

    source: path, or the bytes of a file. It is read once and may change or disappear afterwards; the model's constants
    are read-only views of that copy.
    relaxed: True allows float32 to be computed with range and precision of float16 (relaxComputationFloat32toFloat16);
    large LSTM weights are then stored as float16.
    arithmetic: "litert" for the integer results of LiteRT's reference kernels, "nnapi" for those of the standard.
    signature: key of the signature that names inputs and outputs, and whose subgraph is translated, together with those
    that its IF and WHILE call. None: the first subgraph.
    input_shapes: {input name or position: shape} to build the model for; sizes that the file computes from shapes
    become constants, as in LiteRT after resize_tensor_input. None: unknown dimensions stay unknown.

    Raises InvalidArgument for a file that is unreadable or damaged, UnsupportedOperator, which lists all of them, for
    operators that nnfast cannot run.
    """
    if not isinstance(relaxed, bool):
        raise InvalidArgument(f"load: relaxed is {shown(relaxed)}, must be True or False")
    if not isinstance(arithmetic, str) or arithmetic not in ARITHMETICS:
        raise InvalidArgument(f"load: arithmetic is {shown(arithmetic)}, must be {' or '.join(ARITHMETICS)}")
    with trace.span("LA", "PP", "load"):
        if is_saved(source):
            with importing:
                from ..model.restored import read

            model = read(source)
            if relaxed:
                model = replace(model, relaxed=True)
        else:
            model = _load(source, relaxed, arithmetic, signature, input_shapes)
    if vlog.mask & vlog.MODEL:
        graphs = model.main, *model.referenced
        vlog.log(vlog.MODEL, "load %s: %d operations, %d operands, %d graphs, constants of %d bytes", model.name,
                  len(model.main.operations), len(model.main.operands), len(graphs),
                  sum(o.data.nbytes for graph in graphs for o in graph.operands if o.data is not None))
    return model


class ModelFile:
    """A validated file: its subgraphs as stored, its signatures, and models made from them.

    source: as for load; is_frozen: nobody changes these bytes, so they need no copy. Raises InvalidArgument.

    data: its bytes, read-only.
    """

    def __init__(self, source, is_frozen=False):
        if isinstance(source, bytes | bytearray | memoryview):
            self.data, self.label, self.name = source if is_frozen else _view(source), "model", "model"
            self._records, self._separated = decode(self.data, self.label), {}
        else:
            self.data, self.label, self.name = _read(source)
            self._records = decode(self.data, self.label)
            self._separated = apart({k: buffer.data for k, buffer in enumerate(self._records.buffers)})
        self.size = len(self.data)
        self.signatures = tuple(FileSignature(record.key, record.subgraph_index, _places(record.inputs),
                                              _places(record.outputs)) for record in self._records.signature_defs)

    @property
    def count(self):
        """Number of subgraphs."""
        return len(self._records.subgraphs)

    @property
    def constant_bytes(self):
        """Bytes of the file that lie in buffers."""
        spans = sorted((buffer.data.ctypes.data, buffer.data.ctypes.data + buffer.data.nbytes)
                       for buffer in self._records.buffers if buffer.data.nbytes)
        total, end = 0, 0
        for start, stop in spans:
            total += max(0, stop - max(start, end))
            end = max(end, stop)
        return total

    def graph(self, index):
        """A FileGraph; its tensors hold their constants."""
        record = self._records.subgraphs[index]
        return FileGraph(tuple(_tensor(k, tensor, self._separated) for k, tensor in enumerate(record.tensors)),
                         tuple(_operator(k, operator) for k, operator in enumerate(record.operators)),
                         record.inputs, record.outputs)

    def translate(self, main=0, signature=None, arithmetic="litert", shapes=None, held=NOTHING_HELD,
                  strings=None):
        """(Model, Builder of its main graph): the subgraph number `main`, and those that its IF and WHILE run.

        signature: the FileSignature that names inputs and outputs; None: the first one of that subgraph. arithmetic: as
        of load. shapes: of all inputs in the file's order, to have the model for them; None: as far as the file tells
        them. held: the states.Held variables that it starts with. strings: Strings for those of the file, whose numbers
        stand for them in the model; None: strings are refused. The Builder knows what became of the file's tensors.
        Raises UnsupportedOperator, InvalidArgument.
        """
        if signature is None:
            signature = next((s for s in self.signatures if s.graph == main), None)
        names = ({}, {}) if signature is None else ({index: name for name, index in signature.inputs.items()},
                                                    {index: name for name, index in signature.outputs.items()})
        builders = {}

        def graph_of(index):
            graph = self.graph(index)
            return graph if strings is None else numbered(graph, strings, f"{self.label}: subgraph[{index}]")

        def open_graph(index):
            graph, is_main = graph_of(index), index == main
            builders[index] = Builder(graph.tensors, graph.inputs, names if is_main else ({}, {}), self.label,
                                      self.size, index, is_main, arithmetic)
            if shapes is not None and is_main:
                builders[index].bind(dict(zip(graph.inputs, shapes)))
            return builders[index], graph.operators, graph.outputs

        model = translate(open_graph, graph_of, self.count, self.name, main, arithmetic, held, strings)
        if strings is not None:
            strings.keep()
        signatures = tuple(self._signature(s, main) for s in self.signatures)
        return replace(model, signatures=signatures), builders[main]

    def _signature(self, signature, main):
        """A Signature of the model whose main graph is that subgraph."""
        if signature.graph != main:
            return Signature(signature.key, is_loaded=False)
        record = self._records.subgraphs[main]
        sides = [tuple((name, places.index(index)) for name, index in entries.items() if index in places)
                 for entries, places in ((signature.inputs, record.inputs), (signature.outputs, record.outputs))]
        return Signature(signature.key, *sides)

    def metadata(self):
        """The record of the file's model metadata (schema.TABLES, ModelMetadata), None if it has none."""
        for entry in self._records.metadata:
            if entry.name == METADATA and entry.buffer < len(self._records.buffers):
                return decode_metadata(self._records.buffers[entry.buffer].data, self.label)
        return None

    def find(self, key):
        """The FileSignature with a key. Raises InvalidArgument."""
        for signature in self.signatures:
            if signature.key == key:
                return signature
        names = ", ".join(shown(s.key) for s in self.signatures)
        raise InvalidArgument(f"{self.label}: has no signature {shown(key)}; its signatures: {names or 'none'}")


def _load(source, relaxed, arithmetic, key, input_shapes):
    file = ModelFile(source)
    signature = None if key is None else file.find(key)
    main = 0 if signature is None else signature.graph
    named = signature or next((s for s in file.signatures if s.graph == main), None)
    shapes = wanted(file, main, named, input_shapes, int(arithmetic == "nnapi"))
    model = file.translate(main, signature, arithmetic, shapes)[0]
    if relaxed:
        model = replace(model, relaxed=True)
    if all(name == own.NAME for name, _ in model.extensions):  # what others mean is told by who registered them
        proof.set_origin(model, file.data, [file.name, relaxed, arithmetic, key, main, shapes])
    return model


def _view(source):
    try:
        view = memoryview(source).cast("B")
    except TypeError as error:
        raise InvalidArgument(f"model: bytes must be contiguous ({error})") from None
    return view if isinstance(view.obj, bytes) else memoryview(bytes(view))


def _read(path):
    """(read-only memoryview of the file, file name, file stem)."""
    try:
        path = os.fspath(path)
        label = os.path.basename(os.fsdecode(path)) or os.fsdecode(path)
        label = label.encode(errors="replace").decode()  # which may be shown and stored
    except TypeError:
        raise InvalidArgument(f"model: is {kind_of(path)}, must be a path or bytes") from None
    try:
        # Without O_NONBLOCK, opening a named pipe would block.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                kind = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
                raise InvalidArgument(f"{label}: is {kind}, must be a TFLite file")
            if not status.st_size:
                raise InvalidArgument(f"{label}: is empty, must be a TFLite file")
            check_identifier(os.pread(handle, 8, 0), label)
            data = read_file(handle, status.st_size)
        finally:
            os.close(handle)
    except InvalidArgument:
        raise
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidArgument(f"{os.fsdecode(path)}: cannot be read: {reason}") from None
    return data, label, os.path.splitext(label)[0]


def _tensor(index, record, separated):
    dims, data = record.shape, record.data
    if data is not None:
        data = separated.get(record.buffer, data)
    if record.shape_signature and record.data is None:
        dims = tuple(0 if s == -1 else d for d, s in zip(dims, record.shape_signature))
    elif not dims and record.data is None and not record.has_rank:
        dims = None
    return FileTensor(index, record.name, record.type, dims, data, record.buffer, record.scales,
                      record.zero_points, record.channel_dim, record.is_variable, record.sparsity, record.shape,
                      record.shape_signature, record.blocks)


def _operator(index, record):
    if record.code == CUSTOM:
        return FileOperator(index, record.code, f"CUSTOM {shown(record.custom)}", record.inputs, record.outputs,
                            bytes(record.custom_options), record.custom)
    return FileOperator(index, record.code, operator_name(record.code), record.inputs, record.outputs, record.options,
                        intermediates=tuple(map(int, record.intermediates)))


def _places(entries):
    return {entry.name: entry.tensor_index for entry in entries}
