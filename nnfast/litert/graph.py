"""One subgraph of an Interpreter: its tensors, their memory, and the prepared model that works on them."""

import operator
from math import prod
from weakref import WeakSet

import numpy as np

from ..errors import Error, ResourceExhaustedPersistent
from ..model.types import LifeTime
from ..ops.tfl_strings import Strings
from ..tflite.graph import MAX_ELEMENTS
from ..tflite.reader import ModelFile
from ..tflite.sparse import densified
from ..tflite.strings import constant
from .details import is_text, tensors_of, texts, type_name
from .variables import Outdated, Shared

_VIEWED = ("There is at least 1 reference to internal data in the interpreter in the form of a numpy array or slice. "
           "Be sure to only hold the function returned from tensor() if you are using raw data access.")
KEEP_RANK = frozenset((
    "ABS", "ADD", "CAST", "CEIL", "CONCATENATION", "COS", "DEQUANTIZE", "DIV", "ELU", "EXP", "FLOOR", "GELU",
    "HARD_SWISH", "LEAKY_RELU", "LOG", "LOGISTIC", "MAXIMUM", "MINIMUM", "MUL", "NEG", "PAD", "PADV2", "POW",
    "QUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1", "ROUND", "RSQRT", "SIN", "SLICE", "SOFTMAX", "SQRT", "SQUARE",
    "SQUARED_DIFFERENCE", "SUB", "TANH", "TILE", "TOPK_V2",
))
"""Operators whose results have the rank of an input."""
MOST_TEXTS = 1 << 24
"""Most elements of a tensor of strings."""
_NULL = "Tensor data is null. Run allocate_tensors() first"


class Graph:
    """The state of one subgraph. Its methods raise what LiteRT raises: ValueError, RuntimeError.

    source: path or bytes of the file; index: number of the subgraph; keep_all: keep intermediate results; file: the
    ModelFile of the source, released after the first allocation; variables: the interpreter's.
    """

    def __init__(self, source, index, device, keep_all, file, variables):
        self._source, self._index, self.device, self.keep_all = source, index, device, keep_all
        self.variables = variables
        graph = file.graph(index)
        self.operators = [(o.custom or o.name, o.inputs, o.outputs) for o in graph.operators]
        # For these, files do not distinguish a scalar from an unknown shape: both are ().
        self.custom_results = {k for o in graph.operators if o.custom for k in o.outputs}
        self.rank_kept = {k for o in graph.operators if o.name in KEEP_RANK for k in o.outputs}
        self.tensors, self.inputs, self.outputs = tensors_of(graph), graph.inputs, graph.outputs
        self._file = file
        self._arrays, self._kept = {}, {}
        self._views = WeakSet()
        self._program = None

    def tensor(self, index):
        """Tensor of an index. Raises TypeError, ValueError."""
        index = operator.index(index)
        if not 0 <= index < len(self.tensors):
            raise ValueError(f"Invalid tensor index {index} exceeds max tensor index {len(self.tensors)}")
        return self.tensors[index]

    def check_no_views(self):
        """Raise RuntimeError while an array from `view` exists, whose memory may be freed."""
        if self._views:
            raise RuntimeError(_VIEWED)

    # -- shapes and memory -------------------------------------------------------------------------------------------
    def resize(self, index, size, strict):
        """Give an input the shape `size`."""
        size = np.array(size, np.int32)
        if size.ndim != 1:
            raise ValueError(f"Shape should be 1D instead of {size.ndim}.")
        shape = tuple(size.tolist())
        if not 0 <= operator.index(index) < len(self.tensors):
            raise RuntimeError(f"tensor index is {index}, must be in [0, {len(self.tensors)})")
        tensor = self.tensors[index]
        if tensor.kind not in ("input", "output", "result"):
            raise RuntimeError(f"Attempting to resize a fixed-size tensor: tensor {index} {tensor.name!r} is a "
                               f"{tensor.kind}")
        if min(shape, default=0) < 0:
            raise RuntimeError(f"tensor {index} {tensor.name!r}: shape {list(shape)} has a negative dimension")
        if strict:
            self._check_strict(tensor, shape)
        if shape == tensor.shape:
            return
        tensor.shape = shape
        self._program = None
        self._arrays.clear()

    @staticmethod
    def _check_strict(tensor, shape):
        signature = tensor.signature or tensor.shape
        if len(shape) != len(signature):
            raise RuntimeError(f"tensor {tensor.index} {tensor.name!r}: rank of {list(shape)} must be {len(signature)}")
        for place, (new, now, known) in enumerate(zip(shape, tensor.shape, signature)):
            if known not in (-1, new):
                raise RuntimeError(f"Attempting to resize dimension {place} of tensor {tensor.index} with value {now} "
                                   f"to {new}. ResizeInputTensorStrict only allows mutating unknown dimensions "
                                   "identified by -1.")

    def allocate(self):
        """Prepare the model for the shapes of the inputs, with memory for inputs and outputs."""
        if self._program is not None:
            return
        file, self._file = self._file or self._opened(), None
        strings = Strings() if any(is_text(t) for t in self.tensors) else None
        try:
            model, builder = file.translate(self._index, shapes=self._changed(file), held=self.variables.held(),
                                            strings=strings)
            self._program = Program(self, model, builder, strings)
        except (Error, MemoryError) as error:
            raise RuntimeError(str(error)) from error
        self._arrays = self._program.arrays

    def _changed(self, file):
        """Shapes of all inputs if one differs from the file's, else None."""
        dims = [file.graph(self._index).tensors[index].dims for index in self.inputs]
        shapes = [self.tensors[index].shape for index in self.inputs]
        return None if shapes == dims else shapes

    def _opened(self):
        return ModelFile(self._source)

    # -- values ------------------------------------------------------------------------------------------------------
    def set(self, index, value):
        """Copy a value into a tensor."""
        tensor = self.tensor(index)
        array = np.asarray(value)
        if array.dtype.kind not in "OSU" if is_text(tensor) else array.dtype.newbyteorder("=") != tensor.dtype:
            raise ValueError(f"Cannot set tensor: Got value of type {type_name(array.dtype)} but expected type "
                             f"{type_name(np.dtype(tensor.dtype))} for input {index}, name: {tensor.name} ")
        if array.ndim != len(tensor.shape):
            raise ValueError(f"Cannot set tensor: Dimension mismatch. Got {array.ndim} but expected "
                             f"{len(tensor.shape)} for input {index}.")
        for place, (got, expected) in enumerate(zip(array.shape, tensor.shape)):
            if got != expected:
                raise ValueError(f"Cannot set tensor: Dimension mismatch. Got {got} but expected {expected} for "
                                 f"dimension {place} of input {index}.")
        target = self._memory(tensor, ValueError(
            "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"))
        if not target.flags.writeable:
            raise ValueError(f"Cannot set tensor: tensor {index} {tensor.name!r} is a constant of the file")
        target[...] = texts(array) if is_text(tensor) else array

    def get(self, index):
        """A copy of a tensor's value."""
        return np.array(self._memory(self.tensor(index), ValueError(_NULL)))

    def view(self, index):
        """An array over the memory of a tensor; as long as it lives, check_no_views raises."""
        if is_text(self.tensor(index)):
            raise ValueError(f"tensor {index} has strings, which no array lies over; use get_tensor and set_tensor")
        memory = _Memory(self._memory(self.tensor(index), ValueError(_NULL)))
        self._views.add(memory)
        return np.asarray(memory)

    def _memory(self, tensor, missing):
        """The array that holds a tensor; raises `missing` if there is none."""
        if tensor.kind == "constant":
            return self._constant(tensor.index)
        if tensor.kind == "variable" and self._program is not None:
            array = self._program.variable(tensor.index)
        else:
            array = self._arrays.get(tensor.index)
        if array is None:
            raise missing
        return array

    def _constant(self, index):
        """Value of a constant, read from the file again, as packed constants are not kept."""
        if index not in self._kept:
            t = self._opened().graph(self._index).tensors[index]
            if is_text(self.tensors[index]):
                array = constant(t, "model")
            else:
                array = densified(t, prod(t.dims)) if t.is_sparse else t.array
                array = array.astype(self.tensors[index].dtype, copy=False)
            array.flags.writeable = False
            self._kept[index] = array
        return self._kept[index]

    # -- running -----------------------------------------------------------------------------------------------------
    def invoke(self):
        """Run the prepared model on the inputs' memory."""
        if self._program is None:
            raise RuntimeError("Invoke called on model that is not ready.")
        try:
            self._program.run()
        except Outdated:
            self._renew()
            self._program.run()
        except Error as error:
            raise RuntimeError(str(error)) from error

    def _renew(self):
        """Prepare the model again, for variables that have another shape now."""
        values = {index: self._arrays[index] for index in self.inputs}
        self._program = None
        self.allocate()
        for index, value in values.items():
            self._arrays[index][...] = value

    def reset(self):
        """Set variables to their initial values."""
        if self._program is not None:
            self._program.reset()


class Program:
    """A prepared model between the arrays of its tensors.

    arrays: {tensor index: array}, with the dtype and shape of the tensor in the file. If the model uses another type
    (int64 tensors may be int32 there), values are converted at each run.
    """

    def __init__(self, owner, model, builder, strings):
        """owner: the Graph; model, builder: of its translation; strings: the model's Strings or None."""
        self._strings = strings
        graph, inputs, tensors = model.main, owner.inputs, owner.tensors
        self._tensors, self._outputs = tensors, list(owner.outputs)
        # Results of shape [1] that are no scalars, whatever the file says.
        self._vectors = owner.custom_results | {k for k in owner.rank_kept if builder.tensors[k].dims == (1,)}
        keep = {}
        if owner.keep_all:
            made = {operand for operation in graph.operations for operand in operation.outputs}
            # The translation numbers tensors of a composite's body after those of the file.
            keep = {t: operand for t, operand in builder.current.items() if operand in made and t < len(tensors)
                    and graph.operands[operand].lifetime == LifeTime.TEMPORARY_VARIABLE}
        self._outputs += keep
        prepared = owner.device.prepare(model, keep=list(keep.values()) or None)
        self._variables = {index: place for place, index in enumerate(builder.states)}
        self._stream, self._initial = prepared.stream() if model.states else None, ()
        if self._variables:
            self._initial = [array.copy() for array in self._stream.state]
        self._shared = None if self._stream is None else Shared(owner.variables, self._stream, model, builder)
        self._prepared = prepared
        self.arrays = {}
        self._feeds = [self._array(index, info.dtype, tensors[index].shape, info.shape)
                       for index, info in zip(inputs, prepared.inputs)]
        self._converts = not all(isinstance(feed, np.ndarray) for feed in self._feeds)
        self._run = prepared.run if self._stream is None else self._stream.run
        self._results = None
        shapes = prepared.result_shapes
        if shapes is not None:
            self._results = [self._output(index, info.dtype, shape)
                             for index, info, shape in zip(self._outputs, prepared.outputs, shapes)]
            if not all(isinstance(array, np.ndarray) for array in self._results):
                self._results = None
        if owner.keep_all:
            self._add_folded(builder.tensors)

    def _add_folded(self, translated):
        """Set the values of results that the translation folded to constants. translated: its FileTensors."""
        for tensor, now in zip(self._tensors, translated):
            if tensor.kind == "result" and now.data is not None and tensor.index not in self.arrays:
                self.arrays[tensor.index] = value = self._strings.texts_of(now.array) if is_text(tensor) else \
                    now.array.astype(tensor.dtype, copy=False)
                tensor.shape = value.shape

    def _array(self, index, dtype, shape, model_shape):
        """Memory of a tensor: (the array as the model takes it) or the tensor's index where it must be converted."""
        most = MOST_TEXTS if is_text(self._tensors[index]) else MAX_ELEMENTS
        if prod(shape) > most:
            raise ResourceExhaustedPersistent(f"tensor {index}: shape {list(shape)} has more than {most} elements")
        if is_text(self._tensors[index]):
            self.arrays[index] = np.full(shape, b"", object)
            return index
        kind = np.dtype(self._tensors[index].dtype)
        array = self.arrays[index] = np.zeros(shape, kind)
        if kind != dtype and (kind.itemsize != dtype.itemsize or kind.kind not in "bu"):
            return index
        is_open = model_shape is None or None in model_shape  # of 0 elements, which files do not tell from unknown ones
        return array.view(dtype).reshape(array.shape if is_open else model_shape)

    def _output(self, index, dtype, shape):
        if index in self.arrays:  # an output that is an input, or that is listed twice
            return index
        tensor = self._tensors[index]
        is_single = shape == (1,) and not tensor.shape and index not in self._vectors
        tensor.shape = () if is_single else shape
        return self._array(index, dtype, tensor.shape, shape)

    def run(self):
        """Run once; variables keep their state for the next run."""
        feeds = self._feeds
        if self._strings is not None:
            self._strings.restart()
        if self._converts:
            feeds = [feed if isinstance(feed, np.ndarray) else self._converted(feed, info)
                     for feed, info in zip(feeds, self._prepared.inputs)]
        if self._shared is not None:
            self._shared.load()
        results = self._run(feeds, self._results)
        if self._shared is not None:
            self._shared.save()
        if self._results is None:
            for index, result in zip(self._outputs, results):
                self._take(index, result)

    def _converted(self, index, info):
        array = self.arrays[index]
        if is_text(self._tensors[index]):
            array = self._strings.numbers_of(array)
        return array.astype(info.dtype).reshape(array.shape or (1,))

    def _take(self, index, result):
        """A result of a run as the value of a tensor."""
        tensor = self._tensors[index]
        if tensor.shape or result.shape != (1,) or index in self._vectors:
            tensor.shape = result.shape
        self.arrays[index] = (self._strings.texts_of(result) if is_text(tensor) else
                              result.astype(tensor.dtype)).reshape(tensor.shape)

    # -- variables ---------------------------------------------------------------------------------------------------
    def variable(self, index):
        """The array that currently holds a variable, or None if the model has no such state."""
        place = self._variables.get(index)
        if place is None:
            return None
        return self._stream.state[place].reshape(self._tensors[index].shape)

    def reset(self):
        """Set variables to their initial values; resources keep theirs, as in LiteRT."""
        for place in self._variables.values():
            self._stream.state[place][...] = self._initial[place]


class _Memory:
    """Base object of arrays over a tensor's memory: it lives as long as the array and its slices."""

    def __init__(self, array):
        self._array = array
        self.__array_interface__ = array.__array_interface__

