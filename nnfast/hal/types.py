"""HIDL records and enumerations under their HIDL names [NN 1, 2].

Each is defined once; `v1_0` ... `v1_3` export what their version has. Unions of HIDL are plain Python values: a time
point or a duration is nanoseconds or None, extraParams is None, SymmPerChannelQuantParams or bytes (extension).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from ..errors import ErrorStatus
from ..model.types import UINT32_MAX as UINT32_MAX
from ..model.types import OperandType as _OperandType
from ..model.types import OperationType as _OperationType

if TYPE_CHECKING:
    from typing import Any

UINT64_MAX = 0xFFFFFFFFFFFFFFFF
"""A time that is not available [NN 3.15]."""

HALS = ("1.0", "1.1", "1.2", "1.3")

_LAST_OPERATION = {"1.0": 28, "1.1": 37, "1.2": 94, "1.3": 101}
_LAST_OPERAND_TYPE = {"1.0": 5, "1.1": 5, "1.2": 13, "1.3": 15}
_LAST_STATUS = {"1.0": 4, "1.1": 4, "1.2": 4, "1.3": 8}
_OEM = 10000


def _cut(enum: type[IntEnum], last: dict[str, int]) -> dict[str, type[IntEnum]]:
    """The members that a version has: all up to a number, and those of OEMs."""
    return {hal: IntEnum(enum.__name__, {m.name: m.value for m in enum if m <= last[hal] or m >= _OEM})
            for hal in HALS}


OPERAND_TYPES = _cut(_OperandType, _LAST_OPERAND_TYPE)
OPERATION_TYPES = _cut(_OperationType, _LAST_OPERATION)
ERROR_STATUSES = _cut(ErrorStatus, _LAST_STATUS)
"""Version -> enumeration with the members of that version."""


class OperandLifeTime1_0(IntEnum):
    """Lifetimes under the names of HAL 1.0 to 1.2 [NN 1.3]."""

    TEMPORARY_VARIABLE = 0
    MODEL_INPUT = 1
    MODEL_OUTPUT = 2
    CONSTANT_COPY = 3
    CONSTANT_REFERENCE = 4
    NO_VALUE = 5


class DeviceStatus(IntEnum):
    """IDevice.getStatus [NN 1.5]."""

    AVAILABLE = 0
    BUSY = 1
    OFFLINE = 2
    UNKNOWN = 3


class ExecutionPreference(IntEnum):
    """What prepareModel optimises for; FAST_SINGLE_ANSWER where a call has no such argument."""

    LOW_POWER = 0
    FAST_SINGLE_ANSWER = 1
    SUSTAINED_SPEED = 2


class DeviceType(IntEnum):
    """IDevice.getType."""

    OTHER = 1
    CPU = 2
    GPU = 3
    ACCELERATOR = 4


class MeasureTiming(IntEnum):
    """Whether an execution reports Timing."""

    NO = 0
    YES = 1


class Priority(IntEnum):
    """Priority among the models of one client."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


class LoopTimeoutDurationNs(IntEnum):
    """Time that a WHILE may take."""

    DEFAULT = 2_000_000_000
    MAXIMUM = 15_000_000_000


class ExtensionTypeEncoding(IntEnum):
    """Bits of a type code: the prefix of the extension above the id within it."""

    HIGH_BITS_PREFIX = 16
    LOW_BITS_TYPE = 16


class Constant(IntEnum):
    """Limits of compilation caching."""

    BYTE_SIZE_OF_CACHE_TOKEN = 32
    MAX_NUMBER_OF_CACHE_FILES = 32


# -- memory ----------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Handle:
    """A native handle: file descriptors, which stay the sender's, and integers.

    owner: whatever keeps the descriptors open for as long as the handle lives.
    """

    fds: tuple[int, ...] = ()
    ints: tuple[int, ...] = ()
    owner: object = field(default=None, repr=False, compare=False)


@dataclass(slots=True, weakref_slot=True)
class Memory:
    """hidl_memory [NN 5.1]: name of the kind, handle, bytes. A nnfast.Memory may stand in its place."""

    name: str = ""
    handle: Handle | None = None
    size: int = 0


@dataclass(slots=True)
class MemoryPool:
    """Pool of a 1.3 request: client memory, or the token of a driver's buffer. Exactly one is given."""

    hidlMemory: Memory | None = None
    token: int | None = None


@dataclass(slots=True)
class DataLocation:
    """`length` bytes from `offset` in a pool."""

    poolIndex: int = 0
    offset: int = 0
    length: int = 0


# -- models ----------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class SymmPerChannelQuantParams:
    """extraParams.channelQuant: one scale per index of dimension channelDim."""

    scales: list[float] = field(default_factory=list)
    channelDim: int = 0


@dataclass(slots=True)
class Operand:
    """One operand [NN 2.2]. extraParams exists from 1.2 on."""

    type: int = 0
    dimensions: list[int] = field(default_factory=list)
    numberOfConsumers: int = 0
    scale: float = 0.0
    zeroPoint: int = 0
    lifetime: int = 0
    location: DataLocation = field(default_factory=DataLocation)
    extraParams: object = None


@dataclass(slots=True)
class Operation:
    """One operation: indexes of operands in its own graph."""

    type: int = 0
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Subgraph:
    """One graph of a 1.3 model."""

    operands: list[Operand] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    inputIndexes: list[int] = field(default_factory=list)
    outputIndexes: list[int] = field(default_factory=list)


@dataclass(slots=True)
class ExtensionNameAndPrefix:
    """Which prefix of type codes a model uses for an extension."""

    name: str = ""
    prefix: int = 0


@dataclass(slots=True)
class Model1_0:
    """Model of HAL 1.0 [NN 2.4]."""

    operands: list[Operand] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    inputIndexes: list[int] = field(default_factory=list)
    outputIndexes: list[int] = field(default_factory=list)
    operandValues: bytes = b""
    pools: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Model1_1(Model1_0):
    """Model of HAL 1.1."""

    relaxComputationFloat32toFloat16: bool = False


@dataclass(slots=True)
class Model1_2(Model1_1):
    """Model of HAL 1.2."""

    extensionNameToPrefix: list[ExtensionNameAndPrefix] = field(default_factory=list)


@dataclass(slots=True)
class Model1_3:
    """Model of HAL 1.3: operandValues and pools serve all graphs."""

    main: Subgraph = field(default_factory=Subgraph)
    referenced: list[Subgraph] = field(default_factory=list)
    operandValues: bytes = b""
    pools: list[Any] = field(default_factory=list)
    relaxComputationFloat32toFloat16: bool = False
    extensionNameToPrefix: list[ExtensionNameAndPrefix] = field(default_factory=list)


MODELS: dict[str, type[Model1_0 | Model1_3]] = {"1.0": Model1_0, "1.1": Model1_1, "1.2": Model1_2, "1.3": Model1_3}
"""Version -> its Model."""


# -- requests and answers --------------------------------------------------------------------------------------------
@dataclass(slots=True)
class RequestArgument:
    """One argument [NN 2.5]; hasNoValue: an omitted input."""

    hasNoValue: bool = False
    location: DataLocation = field(default_factory=DataLocation)
    dimensions: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Request:
    """Arguments in the order of the model's lists. pools: Memory in 1.0 to 1.2, MemoryPool in 1.3."""

    inputs: list[RequestArgument] = field(default_factory=list)
    outputs: list[RequestArgument] = field(default_factory=list)
    pools: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class OutputShape:
    """Dimensions of one output, 0 = unknown unless the output is sufficient [NN 3.14]."""

    dimensions: list[int] = field(default_factory=list)
    isSufficient: bool = False


@dataclass(slots=True)
class Timing:
    """Microseconds; UINT64_MAX = not available [NN 3.15]."""

    timeOnDevice: int = UINT64_MAX
    timeInDriver: int = UINT64_MAX


@dataclass(slots=True)
class BufferDesc:
    """Dimensions of a buffer to allocate: 0 = unknown, empty = unknown rank."""

    dimensions: list[int] = field(default_factory=list)


@dataclass(slots=True)
class BufferRole:
    """Use of a buffer: input or output ioIndex of preparedModels[modelIndex]."""

    modelIndex: int = 0
    ioIndex: int = 0
    frequency: float = 1.0


# -- what a device says of itself ------------------------------------------------------------------------------------
@dataclass(slots=True)
class PerformanceInfo:
    """Ratio to the reference CPU, lower is better [NN 1.8]."""

    execTime: float = 0.0
    powerUsage: float = 0.0


@dataclass(slots=True)
class OperandPerformance:
    """Performance of operations on one operand type."""

    type: int = 0
    info: PerformanceInfo = field(default_factory=PerformanceInfo)


@dataclass(slots=True)
class Capabilities1_0:
    """Capabilities of HAL 1.0."""

    float32Performance: PerformanceInfo = field(default_factory=PerformanceInfo)
    quantized8Performance: PerformanceInfo = field(default_factory=PerformanceInfo)


@dataclass(slots=True)
class Capabilities1_1(Capabilities1_0):
    """Capabilities of HAL 1.1."""

    relaxedFloat32toFloat16Performance: PerformanceInfo = field(default_factory=PerformanceInfo)


@dataclass(slots=True)
class Capabilities1_2:
    """Capabilities of HAL 1.2; operandPerformance ascends by type."""

    relaxedFloat32toFloat16PerformanceScalar: PerformanceInfo = field(default_factory=PerformanceInfo)
    relaxedFloat32toFloat16PerformanceTensor: PerformanceInfo = field(default_factory=PerformanceInfo)
    operandPerformance: list[OperandPerformance] = field(default_factory=list)


@dataclass(slots=True)
class Capabilities1_3(Capabilities1_2):
    """Capabilities of HAL 1.3."""

    ifPerformance: PerformanceInfo = field(default_factory=PerformanceInfo)
    whilePerformance: PerformanceInfo = field(default_factory=PerformanceInfo)


@dataclass(slots=True)
class OperandTypeInformation:
    """One operand type of an extension: its code there, and bytes of a scalar or of one element."""

    type: int = 0
    isTensor: bool = False
    byteSize: int = 0


@dataclass(slots=True)
class Extension:
    """A vendor extension that a device supports [NN 2.6]."""

    name: str = ""
    operandTypes: list[OperandTypeInformation] = field(default_factory=list)
