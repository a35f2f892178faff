"""Tensor descriptions as returned by LiteRT's get_tensor_details."""

from dataclasses import dataclass

import numpy as np

from ..checks import kind_of
from ..tflite.schema import TensorType
from ..tflite.sparse import SPARSE

_T = TensorType
NUMPY_TYPES = {
    _T.FLOAT32: np.float32, _T.FLOAT16: np.float16, _T.INT32: np.int32, _T.UINT8: np.uint8, _T.INT64: np.int64,
    _T.STRING: np.bytes_, _T.BOOL: np.bool_, _T.INT16: np.int16, _T.COMPLEX64: np.complex64, _T.INT8: np.int8,
    _T.FLOAT64: np.float64, _T.COMPLEX128: np.complex128, _T.UINT64: np.uint64, _T.RESOURCE: np.object_,
    _T.VARIANT: np.object_, _T.UINT32: np.uint32, _T.UINT16: np.uint16, _T.INT4: np.int8, _T.BFLOAT16: np.uint16,
}
"""Element type of the file -> numpy scalar type that LiteRT reports."""

TYPE_NAMES = {np.dtype(kind): code.name for code, kind in reversed(NUMPY_TYPES.items())}
"""dtype -> LiteRT's name of it in messages."""


def type_name(dtype):
    """LiteRT's name of a numpy dtype in messages."""
    return "STRING" if dtype.kind in "OSU" else TYPE_NAMES.get(dtype.newbyteorder("="), "NOTYPE")


def is_text(tensor):
    """Whether a Tensor has strings: arrays of bytes, of dtype object, as LiteRT gives them."""
    return tensor.dtype is np.bytes_


def texts(array):
    """Array of bytes, dtype object, of an array of strings as numpy has them. Raises ValueError."""
    found = np.empty(array.shape, object)
    for place, text in enumerate(array.reshape(-1).tolist()):
        text = text.encode() if isinstance(text, str) else text
        if not isinstance(text, bytes):
            raise ValueError(f"Cannot set tensor: element {place} is {kind_of(text)}, must be bytes or str")
        found.reshape(-1)[place] = text
    return found


@dataclass(slots=True)
class Tensor:
    """A tensor of the interpreter: its facts from the file, and its current shape.

    kind: "input", "output", "constant", "variable" or "result" (of an operator, for the next ones). sparsity: how a
    sparse constant is stored, {} for others.
    """

    index: int
    name: str
    dtype: type
    shape: tuple
    signature: tuple
    scales: tuple
    zero_points: tuple
    axis: int
    kind: str
    sparsity: dict

    def details(self, compress_zero_points):
        """The dict of get_tensor_details; compress_zero_points: one zero point where all are the same."""
        points = np.array(self.zero_points, np.int64).astype(np.int32)
        if compress_zero_points and len(set(points.tolist())) == 1:
            points = points[:1]
        per_tensor = len(self.scales) == 1
        return {
            "name": self.name, "index": self.index, "shape": np.array(self.shape, np.int32),
            "shape_signature": np.array(self.signature or self.shape, np.int32), "dtype": self.dtype,
            "quantization": (self.scales[0], int(points[0])) if per_tensor else (0.0, 0),
            "quantization_parameters": {
                "scales": np.array(self.scales, np.float32), "zero_points": points,
                "quantized_dimension": self.axis, "block_size": 0,
            },
            "sparsity_parameters": self.sparsity,
        }


def tensors_of(graph):
    """A Tensor for every FileTensor of a FileGraph, in their order."""
    kinds = dict.fromkeys(graph.outputs, "output") | dict.fromkeys(graph.inputs, "input")

    def tensor(t):
        kind = "constant" if t.data is not None else "variable" if t.is_variable else kinds.get(t.index, "result")
        return Tensor(t.index, t.name, NUMPY_TYPES[t.type], t.shape, t.signature, t.scales, t.zero_points,
                      t.channel_dim, kind, {} if t.sparsity is None else _sparsity(t.sparsity))

    return [tensor(t) for t in graph.tensors]


def _sparsity(record):
    """LiteRT's dict of sparsity parameters."""
    found = {"traversal_order": np.array(record.traversal_order, np.int32)}
    if len(record.block_map):
        found["block_map"] = np.array(record.block_map, np.int32)
    found["dim_metadata"] = [
        {"format": level.format, "array_segments": np.array(level.segments, np.int32),
         "array_indices": np.array(level.indices, np.int32)} if level.format == SPARSE else
        {"format": level.format, "dense_size": level.dense_size} for level in record.dim_metadata]
    return found
