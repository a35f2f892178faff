"""Helpers for types, shapes, deadlines and performance tables under the names of the NNAPI's utilities [NN 12.3].

Where those abort, these raise InvalidArgument.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from .._native.threads import now_ns
from ..checks import called, shown
from ..checks import text as checked_text
from ..driver.buffers import combine_dims
from ..errors import InvalidArgument
from ..model.dump import to_dot
from ..model.types import DTYPES, SCALAR_TYPES, Model, type_name
from ..model.validate import validate_model
from . import convert, models
from .refusals import log
from .types import MODELS, OPERAND_TYPES, UINT32_MAX, Capabilities1_3, Operand, OperandPerformance, PerformanceInfo
from .values import fail, is_integer, nanoseconds, record, uint32, vec, version

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from .types import Model1_0, Model1_3, Operation

    AnyModel: TypeAlias = Model1_0 | Model1_3 | Model

_T = OPERAND_TYPES["1.3"]
_MOST_OPERANDS = 1 << 24
_FOREVER_NS = (1 << 63) - 1
_WITHOUT_SIZE = (_T.SUBGRAPH, _T.OEM)
_WITHOUT_PERFORMANCE = (_T.SUBGRAPH, _T.OEM, _T.TENSOR_OEM_BYTE)

__all__ = [
    "alignBytesNeeded", "combineDimensions", "countNumberOfConsumers", "getAlignmentForLength", "graphDump",
    "hasDeadlinePassed", "isExtensionOperandType", "isExtensionOperationType", "lookup", "makeCapabilities",
    "makeDeadline", "nonExtensionOperandPerformance", "nonExtensionOperandSizeOfData",
    "nonExtensionOperandSizeOfDataOverflowsUInt32", "nonExtensionOperandTypeIsScalar", "nonExtensionSizeOfData",
    "tensorHasUnspecifiedDimensions", "update",
]


# -- types and shapes --------------------------------------------------------------------------------------------------
def isExtensionOperandType(type: int) -> bool:
    """True for a code with the prefix of an extension."""
    return (_code(type) & UINT32_MAX) >> 16 != 0


def isExtensionOperationType(type: int) -> bool:
    """True for a code with the prefix of an extension."""
    return (_code(type) & UINT32_MAX) >> 16 != 0


def nonExtensionOperandTypeIsScalar(type: int) -> bool:
    """True for the scalar types, SUBGRAPH and OEM among them, False for tensors; InvalidArgument for any other code."""
    return _core(type) in SCALAR_TYPES


def nonExtensionOperandSizeOfData(type: int, dimensions: Sequence[int]) -> int:
    """Bytes of a value of an operand type and dimensions, 0 for a tensor whose size is not known; InvalidArgument from
    2**32 on.
    """
    size = _size(type, dimensions)
    if size > UINT32_MAX:
        raise InvalidArgument(f"{type_name(type)} {list(dimensions)}: takes {size} bytes, must be at most {UINT32_MAX}")
    return size


def nonExtensionOperandSizeOfDataOverflowsUInt32(type: int, dimensions: Sequence[int]) -> bool:
    """True when the size takes more than 32 bits."""
    return _size(type, dimensions) > UINT32_MAX


def tensorHasUnspecifiedDimensions(type: int, dimensions: Sequence[int]) -> bool:
    """True when rank or a dimension of a tensor is not known.

    Types of extensions count as tensors, without dimensions as scalars. InvalidArgument for scalars of the core.
    """
    dimensions = _dimensions(dimensions)
    if isExtensionOperandType(type):
        return 0 in dimensions
    if nonExtensionOperandTypeIsScalar(type):
        raise InvalidArgument(f"{type_name(type)}: is a scalar, must be a tensor")
    return not len(dimensions) or 0 in dimensions


def combineDimensions(a: Sequence[int], b: Sequence[int]) -> list[int] | None:
    """Dimensions that satisfy both (0 = unknown, [] = unknown rank), or None [NN 6.2]."""
    combined = combine_dims(_dimensions(a), _dimensions(b))
    return None if combined is None else list(combined)


def getAlignmentForLength(length: int) -> int:
    """Bytes at whose multiples a value of this length goes: 1, 2 or 4."""
    uint32(length, "length")
    return 1 if length < 2 else 2 if length < 4 else 4


def nonExtensionSizeOfData(operand: Operand) -> int:
    """nonExtensionOperandSizeOfData of the type and dimensions of an Operand."""
    record(operand, Operand, "operand")
    return nonExtensionOperandSizeOfData(operand.type, operand.dimensions)


def alignBytesNeeded(index: int, length: int) -> int:
    """Bytes of padding in front of a value of this length that would go to `index`."""
    return -uint32(index, "index") & (getAlignmentForLength(length) - 1)


def countNumberOfConsumers(numberOfOperands: int, operations: Sequence[Operation]) -> list[int]:
    """How often each operand is an input of an operation; InvalidArgument for an invalid index.

    numberOfOperands: of the graph; operations: list of its Operation records. Returns a list with a count for each.
    """
    if not is_integer(numberOfOperands) or not 0 <= numberOfOperands <= _MOST_OPERANDS:
        fail("numberOfOperands", f"is {shown(numberOfOperands)}, must be 0 to {_MOST_OPERANDS}")
    counts = Counter()
    for place, operation in enumerate(vec(operations, "operations")):
        for operand in vec(getattr(operation, "inputs", None), f"operation[{place}]: inputs"):
            if not is_integer(operand) or not 0 <= operand < numberOfOperands:
                fail(f"operation[{place}]", f"input is operand {shown(operand)}, there are {numberOfOperands}")
            counts[operand] += 1
    return [counts[operand] for operand in range(numberOfOperands)]


def _code(type):
    if not is_integer(type):
        fail("type", f"is {shown(type)}, must be a code")
    return int(type)


def _dimensions(dimensions):
    return tuple([uint32(dim, f"dimensions[{axis}]") for axis, dim in enumerate(vec(dimensions, "dimensions"))])


def _core(type):
    if _code(type) not in _T.__members__.values():
        raise InvalidArgument(f"operand type {shown(type)}: is not a type of HAL 1.3")
    return type


def _size(type, dimensions):
    dimensions = _dimensions(dimensions)
    if _core(type) in SCALAR_TYPES:
        return 0 if type in _WITHOUT_SIZE else DTYPES[type].itemsize
    return prod(dimensions) * DTYPES[type].itemsize if len(dimensions) else 0


# -- models ------------------------------------------------------------------------------------------------------------
def graphDump(name: str, model: AnyModel, outStream: Any = None) -> None:
    """Write the main graph of a Model, of HIDL in any version or of nnfast, as Graphviz text [NN 12.7].

    name: of the graph in the text. outStream: anything with `write`, as an open file; None: the log "nnfast", line by
    line at level INFO. Raises InvalidArgument for what is no well-formed model.
    """
    text = to_dot(_canonical(model), checked_text(name, "name"))
    if outStream is None:
        for line in text.splitlines():
            log.info("%s", line)
    else:
        called(getattr(outStream, "write", None), "outStream: its write")(text)


def _canonical(model):
    if isinstance(model, Model):
        validate_model(model)
        return model
    hal = next((hal for hal, kind in MODELS.items() if type(model) is kind), None)
    if hal is None:
        fail("model", f"is {shown(model)}, must be a Model of HAL 1.0 to 1.3 or an nnfast.Model")
    return models.to_canonical(model, hal)


# -- deadlines ---------------------------------------------------------------------------------------------------------
def makeDeadline(duration: int | None) -> int:
    """Nanoseconds of the steady clock at `duration` nanoseconds from now, at most the largest there is."""
    return min(now_ns() + (nanoseconds(duration, "duration") or 0), _FOREVER_NS)


def hasDeadlinePassed(deadline: int | None) -> bool:
    """True when a deadline of makeDeadline has come; None never does."""
    deadline = nanoseconds(deadline, "deadline")
    return deadline is not None and now_ns() >= deadline


# -- performance -------------------------------------------------------------------------------------------------------
def nonExtensionOperandPerformance(hal: str, performance: PerformanceInfo) -> list[OperandPerformance]:
    """A table with an entry of its own with this PerformanceInfo (performance) per operand type of a version (hal:
    "1.0" to "1.3"), but for SUBGRAPH and those of OEMs.
    """
    version(hal)
    record(performance, PerformanceInfo, "performance")
    return [OperandPerformance(kind, replace(performance)) for kind in sorted(OPERAND_TYPES[hal])
            if kind not in _WITHOUT_PERFORMANCE]


def update(table: Sequence[OperandPerformance], type: int, performance: PerformanceInfo) -> None:
    """Change the entry of a type, which must be in the table, a list of OperandPerformance, to this performance."""
    _code(type)
    record(performance, PerformanceInfo, "performance")
    for entry in _table(table):
        if entry.type == type:
            entry.info = replace(performance)
            return
    raise InvalidArgument(f"{type_name(type)}: has no entry in the table")


def lookup(table: Sequence[OperandPerformance], type: int) -> PerformanceInfo:
    """The PerformanceInfo of a type, the slowest there is where it has no entry; InvalidArgument for SUBGRAPH."""
    if _code(type) == _T.SUBGRAPH:
        raise InvalidArgument("SUBGRAPH: has no performance; see ifPerformance and whilePerformance")
    return convert.lookup(_table(table), type)


def _table(table):
    return [record(entry, OperandPerformance, f"table[{place}]") for place, entry in enumerate(vec(table, "table"))]


def makeCapabilities(default: PerformanceInfo, float32: PerformanceInfo, relaxed: PerformanceInfo) -> Capabilities1_3:
    """Capabilities of HAL 1.3: float32 for FLOAT32 and TENSOR_FLOAT32, relaxed for both of those, else default."""
    record(relaxed, PerformanceInfo, "relaxed")
    table = nonExtensionOperandPerformance("1.3", default)
    for kind in (_T.FLOAT32, _T.TENSOR_FLOAT32):
        update(table, kind, float32)
    return Capabilities1_3(replace(relaxed), replace(relaxed), table, replace(default), replace(default))
