"""Helpers for types, shapes, deadlines and performance tables under the names of the NNAPI's utilities (hal.md 12.3).

Where those abort, these raise InvalidArgument.
"""

from math import prod

from .._native.threads import now_ns
from ..driver.buffers import combine_dims
from ..errors import InvalidArgument
from ..model.types import DTYPES, SCALAR_TYPES, type_name
from . import convert
from .types import OPERAND_TYPES, UINT32_MAX, Capabilities1_3, OperandPerformance

_T = OPERAND_TYPES["1.3"]
_FOREVER_NS = (1 << 63) - 1
_WITHOUT_SIZE = (_T.SUBGRAPH, _T.OEM)
_WITHOUT_PERFORMANCE = (_T.SUBGRAPH, _T.OEM, _T.TENSOR_OEM_BYTE)

__all__ = [
    "alignBytesNeeded", "combineDimensions", "countNumberOfConsumers", "getAlignmentForLength", "hasDeadlinePassed",
    "isExtensionOperandType", "isExtensionOperationType", "lookup", "makeCapabilities", "makeDeadline",
    "nonExtensionOperandPerformance", "nonExtensionOperandSizeOfData", "nonExtensionOperandSizeOfDataOverflowsUInt32",
    "nonExtensionOperandTypeIsScalar", "tensorHasUnspecifiedDimensions", "update",
]


# -- types and shapes --------------------------------------------------------------------------------------------------
def isExtensionOperandType(type):
    """True for a code with the prefix of an extension."""
    return (type & UINT32_MAX) >> 16 != 0


def isExtensionOperationType(type):
    """True for a code with the prefix of an extension."""
    return (type & UINT32_MAX) >> 16 != 0


def nonExtensionOperandTypeIsScalar(type):
    """True for the scalar types, SUBGRAPH and OEM among them, False for tensors; InvalidArgument for any other code."""
    return _core(type) in SCALAR_TYPES


def nonExtensionOperandSizeOfData(type, dimensions):
    """Bytes of a value, 0 for a tensor whose size is not known; InvalidArgument from 2**32 on."""
    size = _size(type, dimensions)
    if size > UINT32_MAX:
        raise InvalidArgument(f"{type_name(type)} {list(dimensions)}: takes {size} bytes, must be at most {UINT32_MAX}")
    return size


def nonExtensionOperandSizeOfDataOverflowsUInt32(type, dimensions):
    """True when the size takes more than 32 bits."""
    return _size(type, dimensions) > UINT32_MAX


def tensorHasUnspecifiedDimensions(type, dimensions):
    """True when rank or a dimension of a tensor is not known.

    Types of extensions count as tensors, without dimensions as scalars. InvalidArgument for scalars of the core.
    """
    if isExtensionOperandType(type):
        return 0 in dimensions
    if nonExtensionOperandTypeIsScalar(type):
        raise InvalidArgument(f"{type_name(type)}: is a scalar, must be a tensor")
    return not len(dimensions) or 0 in dimensions


def combineDimensions(a, b):
    """Dimensions that satisfy both (0 = unknown, [] = unknown rank), or None (hal.md 6.2)."""
    combined = combine_dims(a, b)
    return None if combined is None else list(combined)


def getAlignmentForLength(length):
    """Bytes at whose multiples a value of this length goes: 1, 2 or 4."""
    return 1 if length < 2 else 2 if length < 4 else 4


def alignBytesNeeded(index, length):
    """Bytes of padding in front of a value of this length that would go to `index`."""
    return -index & (getAlignmentForLength(length) - 1)


def countNumberOfConsumers(numberOfOperands, operations):
    """How often each operand is an input of an operation; InvalidArgument for an index that is none."""
    counts = [0] * numberOfOperands
    for place, operation in enumerate(operations):
        for operand in operation.inputs:
            if not 0 <= operand < numberOfOperands:
                raise InvalidArgument(f"operation[{place}]: input is operand {operand}, there are {numberOfOperands}")
            counts[operand] += 1
    return counts


def _core(type):
    if type not in _T.__members__.values():
        raise InvalidArgument(f"operand type {type}: is none of HAL 1.3")
    return type


def _size(type, dimensions):
    if _core(type) in SCALAR_TYPES:
        return 0 if type in _WITHOUT_SIZE else DTYPES[type].itemsize
    return prod(dimensions) * DTYPES[type].itemsize if len(dimensions) else 0


# -- deadlines ---------------------------------------------------------------------------------------------------------
def makeDeadline(duration):
    """Nanoseconds of the steady clock at `duration` nanoseconds from now, at most the largest there is."""
    return min(now_ns() + duration, _FOREVER_NS)


def hasDeadlinePassed(deadline):
    """True when a deadline of makeDeadline has come; None never does."""
    return deadline is not None and now_ns() >= deadline


# -- performance -------------------------------------------------------------------------------------------------------
def nonExtensionOperandPerformance(hal, performance):
    """A table with one entry of this PerformanceInfo per operand type of a version, but for SUBGRAPH and those of OEMs.
    """
    return [OperandPerformance(kind, performance) for kind in sorted(OPERAND_TYPES[hal])
            if kind not in _WITHOUT_PERFORMANCE]


def update(table, type, performance):
    """Change the entry of a type, which must be there."""
    for entry in table:
        if entry.type == type:
            entry.info = performance
            return
    raise InvalidArgument(f"{type_name(type)}: has no entry in the table")


def lookup(table, type):
    """The PerformanceInfo of a type, the slowest there is where it has no entry; InvalidArgument for SUBGRAPH."""
    if type == _T.SUBGRAPH:
        raise InvalidArgument("SUBGRAPH: has no performance; see ifPerformance and whilePerformance")
    return convert.lookup(table, type)


def makeCapabilities(default, float32, relaxed):
    """Capabilities of HAL 1.3: float32 for FLOAT32 and TENSOR_FLOAT32, relaxed for both of those, else default."""
    table = nonExtensionOperandPerformance("1.3", default)
    for kind in (_T.FLOAT32, _T.TENSOR_FLOAT32):
        update(table, kind, float32)
    return Capabilities1_3(relaxed, relaxed, table, default, default)
