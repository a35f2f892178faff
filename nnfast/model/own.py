"""What nnfast has beside the standard, for `.tflite` files: an extension of its own, and the operand types of it.

A model that uses any of it lists (NAME, PREFIX) among its extensions, as it would list those of a vendor. Every device
understands it; the faces of the HAL do not offer it.
"""

import numpy as np

from ..errors import InvalidArgument
from .types import Definition

NAME = "org.nnfast.tflite"
PREFIX = 0x4E46
"""The prefix that nnfast's own importer gives it; a model may choose another."""


class OwnType(Definition):
    """A type of tensors that the standard lacks, without quantization. code: that of operands, under PREFIX."""

    parameters, extension = None, NAME

    def __init__(self, name, id, dtype, is_tensor=True):
        self.name, self.id, self.dtype, self.is_tensor = name, id, np.dtype(dtype), is_tensor
        self.code = PREFIX << 16 | id

    def unpack(self, path, raw):
        """Nothing: no type has parameters. Raises InvalidArgument where an operand has some."""
        if raw is not None:
            raise InvalidArgument(f"{path}: has parameters, {self.name} takes none")

    def __repr__(self):
        return f"<OwnType {self.id} {self.name}>"

    def __reduce__(self):
        return _type_of, (self.id,)


def _type_of(id):
    return TYPES[id]


_SIZES = {"int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16", "uint32": "U32", "int64": "I64",
          "uint64": "U64", "float64": "F64", "complex64": "C64", "complex128": "C128"}
TYPES = {k: OwnType(f"TENSOR_{dtype.upper()}", k, dtype) for k, dtype in enumerate(_SIZES)}
TYPES |= {k + 32: OwnType(dtype.upper(), k + 32, dtype, is_tensor=False) for k, dtype in enumerate(_SIZES)}
"""By id. Scalars stand for constants of rank 0."""

BY_NAME = {t.name: t for t in TYPES.values()}
ABBREVIATIONS = {short if prefix else short.lower(): BY_NAME[prefix + dtype.upper()]
                 for prefix in ("TENSOR_", "") for dtype, short in _SIZES.items()}
"""Short names in signatures: I64 is a tensor of int64, i64 a scalar."""

TENSOR_OF = {t.dtype: t for t in TYPES.values() if t.is_tensor}
SCALAR_OF = {t.dtype: t for t in TYPES.values() if not t.is_tensor}
"""numpy dtype -> type, of tensors and of scalars."""
