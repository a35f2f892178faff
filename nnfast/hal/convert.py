"""compliantWithV1_x and convertToV1_x of all records and codes of HIDL [NN 12.5].

Up is always possible and loses nothing. Down, a value that is not compliant is converted as far as that goes, with a
warning in the log that says what is lost.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING

from ..checks import shown
from ..driver.memory import Memory as SharedMemory
from ..errors import ErrorStatus, InvalidArgument
from ..model.types import DTYPES, SCALAR_TYPES, LifeTime
from .pools import kinds_of
from .types import (
    ERROR_STATUSES,
    HALS,
    MODELS,
    OPERAND_TYPES,
    OPERATION_TYPES,
    UINT32_MAX,
    BufferDesc,
    BufferRole,
    Capabilities1_0,
    Capabilities1_1,
    Capabilities1_2,
    Capabilities1_3,
    DataLocation,
    DeviceStatus,
    DeviceType,
    ExecutionPreference,
    Extension,
    ExtensionNameAndPrefix,
    Handle,
    LoopTimeoutDurationNs,
    MeasureTiming,
    Memory,
    MemoryPool,
    Model1_3,
    Operand,
    OperandLifeTime1_0,
    OperandPerformance,
    OperandTypeInformation,
    Operation,
    OutputShape,
    PerformanceInfo,
    Priority,
    Request,
    RequestArgument,
    Subgraph,
    SymmPerChannelQuantParams,
    Timing,
)
from .values import is_integer, version

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_T = OPERAND_TYPES["1.3"]
_QUANT_LIKE = (_T.INT32, _T.UINT32, _T.TENSOR_INT32, _T.OEM, _T.TENSOR_OEM_BYTE)
_LIFETIMES = {hal: LifeTime if hal == "1.3" else OperandLifeTime1_0 for hal in HALS}
_CODES = {"OperandType": OPERAND_TYPES, "OperationType": OPERATION_TYPES, "LifeTime": _LIFETIMES,
          "OperandLifeTime1_0": _LIFETIMES}
"""Name of an enumeration -> its members by version."""
_SINCE = {
    **dict.fromkeys((DataLocation, RequestArgument, PerformanceInfo, DeviceStatus, Handle), "1.0"),
    ExecutionPreference: "1.1",
    **dict.fromkeys((SymmPerChannelQuantParams, ExtensionNameAndPrefix, OutputShape, Timing, OperandPerformance,
                     OperandTypeInformation, Extension, DeviceType, MeasureTiming), "1.2"),
    **dict.fromkeys((Subgraph, BufferDesc, BufferRole, Priority, LoopTimeoutDurationNs), "1.3"),
}
"""The version that a record or an enumeration came with; it is the same in all later ones."""
_CAPABILITIES = {"1.0": Capabilities1_0, "1.1": Capabilities1_1, "1.2": Capabilities1_2, "1.3": Capabilities1_3}
_STATUSES = {hal: frozenset(map(int, statuses)) for hal, statuses in ERROR_STATUSES.items()}
FLT_MAX = 3.4028234663852886e38
_UNKNOWN = PerformanceInfo(FLT_MAX, FLT_MAX)
_log = logging.getLogger("nnfast.hal")


def compliant_with(value: Any, hal: str, noncompliant: set[int] | None = None) -> bool:
    """True when version `hal` can express the value without loss.

    value: a record or a code of any version, or a list of them. noncompliant: a set that takes the indexes of a model's
    main operations that cannot be expressed. What did not exist in a version is not compliant with it. Raises
    InvalidArgument for what is nothing of HIDL.
    """
    return not _losses(value, version(hal), noncompliant)


def convert_to(value: Any, hal: str) -> Any:
    """The value as one of version `hal`, with a warning in the log when something is lost.

    Codes and records that a version lacks stay as they are.
    """
    for loss in _losses(value, version(hal), None):
        _log.warning("converting %s to HAL %s: %s", type(value).__name__, hal, loss)
    return _converted(value, hal)


def compliantWithV1_0(value: Any, noncompliant: set[int] | None = None) -> bool:
    """True when HAL 1.0 can express the value without loss: compliant_with(value, "1.0", noncompliant)."""
    return compliant_with(value, "1.0", noncompliant)


def compliantWithV1_1(value: Any, noncompliant: set[int] | None = None) -> bool:
    """True when HAL 1.1 can express the value without loss: compliant_with(value, "1.1", noncompliant)."""
    return compliant_with(value, "1.1", noncompliant)


def compliantWithV1_2(value: Any, noncompliant: set[int] | None = None) -> bool:
    """True when HAL 1.2 can express the value without loss: compliant_with(value, "1.2", noncompliant)."""
    return compliant_with(value, "1.2", noncompliant)


def compliantWithV1_3(value: Any, noncompliant: set[int] | None = None) -> bool:
    """True when HAL 1.3 can express the value without loss: compliant_with(value, "1.3", noncompliant)."""
    return compliant_with(value, "1.3", noncompliant)


def convertToV1_0(value: Any) -> Any:
    """The value as one of HAL 1.0, with a warning in the log when something is lost: convert_to(value, "1.0")."""
    return convert_to(value, "1.0")


def convertToV1_1(value: Any) -> Any:
    """The value as one of HAL 1.1, with a warning in the log when something is lost: convert_to(value, "1.1")."""
    return convert_to(value, "1.1")


def convertToV1_2(value: Any) -> Any:
    """The value as one of HAL 1.2, with a warning in the log when something is lost: convert_to(value, "1.2")."""
    return convert_to(value, "1.2")


def convertToV1_3(value: Any) -> Any:
    """The value as one of HAL 1.3, with a warning in the log when something is lost: convert_to(value, "1.3")."""
    return convert_to(value, "1.3")


def status(value: int, hal: str) -> ErrorStatus:
    """A status as the version knows it: 5 to 8 are GENERAL_FAILURE below 1.3 [NN 1.4]."""
    return ErrorStatus(value) if value in _STATUSES[hal] else ErrorStatus.GENERAL_FAILURE


def _converted(value, hal):
    if isinstance(value, list | tuple):
        return [_converted(item, hal) for item in value]
    if isinstance(value, tuple(MODELS.values())):
        return _model(value, hal)
    if isinstance(value, tuple(_CAPABILITIES.values())):
        return _capabilities(value, hal)
    if isinstance(value, Request):
        return _request(value, hal)
    name = type(value).__name__
    if name == "ErrorStatus":
        return status(value, hal)
    if name in _CODES:
        known = _CODES[name][hal]
        return known(value) if value in known.__members__.values() else value
    if isinstance(value, Operand):
        return _operand(value, hal)
    if isinstance(value, MemoryPool) and _below(hal, "1.3"):
        return value.hidlMemory or Memory()
    return value


def _losses(value, hal, noncompliant):
    """What a conversion would lose, in words."""
    name = type(value).__name__
    if isinstance(value, list | tuple):
        inner = [item for item in value if isinstance(item, list | tuple)]
        if inner:
            raise InvalidArgument(f"value: is a list with {shown(inner[0])}, must hold records or codes of HIDL")
        return [loss for item in value for loss in _losses(item, hal, noncompliant)]
    if isinstance(value, tuple(MODELS.values())):
        return _model_losses(value, hal, set() if noncompliant is None else noncompliant)
    if name == "ErrorStatus" and isinstance(value, int):
        return [] if status(value, hal) == value else [f"{value.name} becomes GENERAL_FAILURE"]
    if isinstance(value, Request):
        return _request_losses(value, hal)
    if isinstance(value, tuple(_CAPABILITIES.values())):
        return _capability_losses(value, hal)
    if name in _CODES and isinstance(value, IntEnum):
        return [] if value in _CODES[name][hal].__members__.values() else [f"{name} {value.name} does not exist there"]
    if isinstance(value, Operand):
        return list(_operand_losses(value, None, hal))
    if isinstance(value, Operation):
        known = value.type in OPERATION_TYPES[hal].__members__.values() or \
            _is_extension(value.type) and not _below(hal, "1.2")
        return [] if known else [f"operation code {value.type} does not exist there"]
    if isinstance(value, Memory | SharedMemory):
        return [] if _kind(value) in kinds_of(hal) else [f"memory of kind {_kind(value)}"]
    if isinstance(value, MemoryPool):
        if value.hidlMemory is not None:
            return _losses(value.hidlMemory, hal, noncompliant)
        return ["a token becomes an empty memory"] if _below(hal, "1.3") else []
    since = _SINCE.get(type(value))
    if since is None:
        raise InvalidArgument(f"value: is {shown(value)}, must be a record or a code of HIDL")
    return [f"{name} came with HAL {since}"] if _below(hal, since) else []


def _below(hal, version):
    return HALS.index(hal) < HALS.index(version)


# -- models ----------------------------------------------------------------------------------------------------------
def _nested(model):
    """Main graph, referenced graphs, relaxed flag and map of extensions of a model of any version."""
    if isinstance(model, Model1_3):
        return model.main, model.referenced, model.relaxComputationFloat32toFloat16, model.extensionNameToPrefix
    main = Subgraph(model.operands, model.operations, model.inputIndexes, model.outputIndexes)
    return main, [], getattr(model, "relaxComputationFloat32toFloat16", False), \
        getattr(model, "extensionNameToPrefix", [])


def _model(model, hal):
    if type(model) is MODELS[hal]:
        return model
    main, referenced, relaxed, extensions = _nested(model)
    if hal == "1.3":
        return Model1_3(main, referenced, model.operandValues, model.pools, relaxed, extensions)
    fields = [main.operands, main.operations, main.inputIndexes, main.outputIndexes, model.operandValues, model.pools,
              relaxed, extensions]
    return MODELS[hal](*fields[:{"1.0": 6, "1.1": 7, "1.2": 8}[hal]])


def _model_losses(model, hal, noncompliant):
    main, referenced, _, _ = _nested(model)
    losses = []
    for index, operation in enumerate(main.operations):
        places = [*operation.inputs, *operation.outputs]
        wrong = [place for place in places if not is_integer(place) or not 0 <= place < len(main.operands)]
        if wrong:
            noncompliant.add(index)
            losses.append(f"main.operation[{index}]: operand index {shown(wrong[0])} is outside 0.."
                          f"{len(main.operands) - 1}")
            continue
        operands = [main.operands[place] for place in places]
        misfit = operation.type not in OPERATION_TYPES[hal].__members__.values() and \
            not (_is_extension(operation.type) and not _below(hal, "1.2"))
        why = [f"operation code {operation.type}"] if misfit else []
        why += [reason for operand in operands for reason in _operand_losses(operand, model.pools, hal)]
        if why:
            noncompliant.add(index)
            losses.append(f"main.operation[{index}]: {', '.join(dict.fromkeys(why))} does not exist in HAL {hal}")
    if losses and referenced and _below(hal, "1.3"):
        losses.append("the referenced subgraphs are dropped")
    return losses


def _is_extension(code):
    return bool((code & UINT32_MAX) >> 16)


def _operand_losses(operand, pools, hal):
    if operand.type not in OPERAND_TYPES[hal].__members__.values() and \
            not (_is_extension(operand.type) and not _below(hal, "1.2")):
        yield f"operand type {operand.type}"
    if _below(hal, "1.2") and operand.type in DTYPES and operand.type not in SCALAR_TYPES and \
            not len(operand.dimensions):
        yield "an operand of unknown rank"
    if _below(hal, "1.3") and operand.lifetime == LifeTime.SUBGRAPH:
        yield "lifetime SUBGRAPH"
    if operand.lifetime == LifeTime.CONSTANT_REFERENCE and pools is not None:
        place = operand.location.poolIndex
        if not is_integer(place) or not 0 <= place < len(pools):
            yield f"pool index {shown(place)}"
            return
        pool = pools[place]
        if _kind(pool) not in kinds_of(hal):
            yield f"memory of kind {_kind(pool)}"


def _operand(operand, hal):
    """extraParams came with 1.2."""
    return replace(operand, extraParams=None) if _below(hal, "1.2") and operand.extraParams is not None else operand


def _kind(memory):
    return memory.name if isinstance(memory, Memory) else getattr(memory, "kind", f"of {shown(memory)}")


# -- requests --------------------------------------------------------------------------------------------------------
def _request(request, hal):
    pools = [pool if isinstance(pool, MemoryPool) == (hal == "1.3") else
             MemoryPool(pool) if hal == "1.3" else pool.hidlMemory or Memory() for pool in request.pools]
    return Request(request.inputs, request.outputs, pools)


def _request_losses(request, hal):
    if hal == "1.3":
        return []
    losses = []
    for place, pool in enumerate(request.pools):
        memory = pool.hidlMemory if isinstance(pool, MemoryPool) else pool
        if memory is None:
            losses.append(f"pool {place} is a token and becomes an empty memory")
        elif _kind(memory) not in kinds_of(hal):
            losses.append(f"pool {place} is of kind {_kind(memory)}")
    return losses


# -- capabilities ----------------------------------------------------------------------------------------------------
def lookup(table: Iterable[OperandPerformance], kind: int) -> PerformanceInfo:
    """Performance of an operand type; the slowest there is for one that is not in the table."""
    return next((entry.info for entry in table if entry.type == kind), _UNKNOWN)


def _capability_losses(value, hal):
    if type(value) is Capabilities1_1 and hal == "1.0":
        same = value.relaxedFloat32toFloat16Performance == value.float32Performance
        return [] if same else ["the performance of relaxed float32 is dropped"]
    if not isinstance(value, Capabilities1_2) or not _below(hal, "1.2"):
        return []
    table, losses = value.operandPerformance, []
    if lookup(table, _T.FLOAT32) != lookup(table, _T.TENSOR_FLOAT32):
        losses.append("FLOAT32 differs from TENSOR_FLOAT32")
    if value.relaxedFloat32toFloat16PerformanceScalar != value.relaxedFloat32toFloat16PerformanceTensor:
        losses.append("relaxed scalars differ from relaxed tensors")
    if hal == "1.0" and value.relaxedFloat32toFloat16PerformanceTensor != lookup(table, _T.TENSOR_FLOAT32):
        losses.append("relaxed float32 differs from TENSOR_FLOAT32")
    named = {entry.type for entry in table}
    quant8 = lookup(table, _T.TENSOR_QUANT8_ASYMM)
    # A device without OEM types has no entry for them; there is nothing to lose then.
    losses += [f"{kind.name} differs from TENSOR_QUANT8_ASYMM" for kind in _QUANT_LIKE
               if kind in named and lookup(table, kind) != quant8]
    return losses


def _capabilities(value, hal):
    if type(value) is _CAPABILITIES[hal]:
        return value
    if isinstance(value, Capabilities1_2):
        return _capabilities_of_1_2(value, hal)
    float32, quant8 = value.float32Performance, value.quantized8Performance
    relaxed = value.relaxedFloat32toFloat16Performance if isinstance(value, Capabilities1_1) else float32
    if hal == "1.0":
        return Capabilities1_0(float32, quant8)
    if hal == "1.1":
        return Capabilities1_1(float32, quant8, relaxed)
    table = dict.fromkeys((_T.FLOAT32, _T.TENSOR_FLOAT32), float32)
    table |= dict.fromkeys((*_QUANT_LIKE, _T.TENSOR_QUANT8_ASYMM), quant8)
    rows = [OperandPerformance(kind, table[kind]) for kind in sorted(table)]
    fields = relaxed, relaxed, rows
    return Capabilities1_2(*fields) if hal == "1.2" else Capabilities1_3(*fields, _UNKNOWN, _UNKNOWN)


def _capabilities_of_1_2(value, hal):
    table = value.operandPerformance
    if hal == "1.3":
        return Capabilities1_3(value.relaxedFloat32toFloat16PerformanceScalar,
                               value.relaxedFloat32toFloat16PerformanceTensor, table, _UNKNOWN, _UNKNOWN)
    if hal == "1.2":
        rows = [entry for entry in table if entry.type in OPERAND_TYPES["1.2"].__members__.values()]
        return Capabilities1_2(value.relaxedFloat32toFloat16PerformanceScalar,
                               value.relaxedFloat32toFloat16PerformanceTensor, rows)
    fields = lookup(table, _T.TENSOR_FLOAT32), lookup(table, _T.TENSOR_QUANT8_ASYMM)
    return Capabilities1_0(*fields) if hal == "1.0" else \
        Capabilities1_1(*fields, value.relaxedFloat32toFloat16PerformanceTensor)
