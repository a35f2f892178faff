"""Canonical model records: the HAL 1.3 superset plus the four AIDL operations.

One set of types is used inside nnfast; the versioned HAL faces convert at the edge. Numbers are those of
[NN 1.1-1.5]. Records are plain data: `nnfast.model.validate` knows the rules.
"""

from __future__ import annotations

import re
from enum import IntEnum
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..checks import counted, shown
from ..forks import importing
from ..record import field, record, replace

if TYPE_CHECKING:
    from typing import Any

    from .. import typed


class OperandType(IntEnum):
    """Operand type codes [NN 1.1]."""

    FLOAT32 = 0
    INT32 = 1
    UINT32 = 2
    TENSOR_FLOAT32 = 3
    TENSOR_INT32 = 4
    TENSOR_QUANT8_ASYMM = 5
    BOOL = 6
    TENSOR_QUANT16_SYMM = 7
    TENSOR_FLOAT16 = 8
    TENSOR_BOOL8 = 9
    FLOAT16 = 10
    TENSOR_QUANT8_SYMM_PER_CHANNEL = 11
    TENSOR_QUANT16_ASYMM = 12
    TENSOR_QUANT8_SYMM = 13
    TENSOR_QUANT8_ASYMM_SIGNED = 14
    SUBGRAPH = 15
    OEM = 10000
    TENSOR_OEM_BYTE = 10001


class OperationType(IntEnum):
    """Operation codes of HAL 1.0-1.3 (0-101) and AIDL (102-105) [NN 1.2]."""

    ADD = 0
    AVERAGE_POOL_2D = 1
    CONCATENATION = 2
    CONV_2D = 3
    DEPTHWISE_CONV_2D = 4
    DEPTH_TO_SPACE = 5
    DEQUANTIZE = 6
    EMBEDDING_LOOKUP = 7
    FLOOR = 8
    FULLY_CONNECTED = 9
    HASHTABLE_LOOKUP = 10
    L2_NORMALIZATION = 11
    L2_POOL_2D = 12
    LOCAL_RESPONSE_NORMALIZATION = 13
    LOGISTIC = 14
    LSH_PROJECTION = 15
    LSTM = 16
    MAX_POOL_2D = 17
    MUL = 18
    RELU = 19
    RELU1 = 20
    RELU6 = 21
    RESHAPE = 22
    RESIZE_BILINEAR = 23
    RNN = 24
    SOFTMAX = 25
    SPACE_TO_DEPTH = 26
    SVDF = 27
    TANH = 28
    BATCH_TO_SPACE_ND = 29
    DIV = 30
    MEAN = 31
    PAD = 32
    SPACE_TO_BATCH_ND = 33
    SQUEEZE = 34
    STRIDED_SLICE = 35
    SUB = 36
    TRANSPOSE = 37
    ABS = 38
    ARGMAX = 39
    ARGMIN = 40
    AXIS_ALIGNED_BBOX_TRANSFORM = 41
    BIDIRECTIONAL_SEQUENCE_LSTM = 42
    BIDIRECTIONAL_SEQUENCE_RNN = 43
    BOX_WITH_NMS_LIMIT = 44
    CAST = 45
    CHANNEL_SHUFFLE = 46
    DETECTION_POSTPROCESSING = 47
    EQUAL = 48
    EXP = 49
    EXPAND_DIMS = 50
    GATHER = 51
    GENERATE_PROPOSALS = 52
    GREATER = 53
    GREATER_EQUAL = 54
    GROUPED_CONV_2D = 55
    HEATMAP_MAX_KEYPOINT = 56
    INSTANCE_NORMALIZATION = 57
    LESS = 58
    LESS_EQUAL = 59
    LOG = 60
    LOGICAL_AND = 61
    LOGICAL_NOT = 62
    LOGICAL_OR = 63
    LOG_SOFTMAX = 64
    MAXIMUM = 65
    MINIMUM = 66
    NEG = 67
    NOT_EQUAL = 68
    PAD_V2 = 69
    POW = 70
    PRELU = 71
    QUANTIZE = 72
    QUANTIZED_16BIT_LSTM = 73
    RANDOM_MULTINOMIAL = 74
    REDUCE_ALL = 75
    REDUCE_ANY = 76
    REDUCE_MAX = 77
    REDUCE_MIN = 78
    REDUCE_PROD = 79
    REDUCE_SUM = 80
    ROI_ALIGN = 81
    ROI_POOLING = 82
    RSQRT = 83
    SELECT = 84
    SIN = 85
    SLICE = 86
    SPLIT = 87
    SQRT = 88
    TILE = 89
    TOPK_V2 = 90
    TRANSPOSE_CONV_2D = 91
    UNIDIRECTIONAL_SEQUENCE_LSTM = 92
    UNIDIRECTIONAL_SEQUENCE_RNN = 93
    RESIZE_NEAREST_NEIGHBOR = 94
    QUANTIZED_LSTM = 95
    IF = 96
    WHILE = 97
    ELU = 98
    HARD_SWISH = 99
    FILL = 100
    RANK = 101
    BATCH_MATMUL = 102
    PACK = 103
    MIRROR_PAD = 104
    REVERSE = 105
    OEM_OPERATION = 10000


class LifeTime(IntEnum):
    """Operand lifetimes under their HAL 1.3 names [NN 1.3]."""

    TEMPORARY_VARIABLE = 0
    SUBGRAPH_INPUT = 1
    SUBGRAPH_OUTPUT = 2
    CONSTANT_COPY = 3
    CONSTANT_REFERENCE = 4
    NO_VALUE = 5
    SUBGRAPH = 6


CONSTANT_LIFETIMES = frozenset((LifeTime.CONSTANT_COPY, LifeTime.CONSTANT_REFERENCE))


class Activation(IntEnum):
    """FusedActivationFunc [NN 1.5], with the wider list of the recurrent operations [NN 13.8]."""

    NONE = 0
    RELU = 1
    RELU1 = 2
    RELU6 = 3
    TANH = 4
    SIGMOID = 6


VERSIONS = ("1.0", "1.1", "1.2", "1.3", "aidl2", "aidl3")
"""HAL versions in order; a model's version is the highest that any of its parts needs."""

_T = OperandType
_DTYPES = {
    _T.FLOAT32: np.float32, _T.INT32: np.int32, _T.UINT32: np.uint32, _T.BOOL: np.uint8, _T.FLOAT16: np.float16,
    _T.TENSOR_FLOAT32: np.float32, _T.TENSOR_INT32: np.int32, _T.TENSOR_QUANT8_ASYMM: np.uint8,
    _T.TENSOR_QUANT16_SYMM: np.int16, _T.TENSOR_FLOAT16: np.float16, _T.TENSOR_BOOL8: np.uint8,
    _T.TENSOR_QUANT8_SYMM_PER_CHANNEL: np.int8, _T.TENSOR_QUANT16_ASYMM: np.uint16, _T.TENSOR_QUANT8_SYMM: np.int8,
    _T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8, _T.SUBGRAPH: np.uint32, _T.TENSOR_OEM_BYTE: np.uint8,
}
DTYPES = {t: np.dtype(d) for t, d in _DTYPES.items()}
"""numpy dtype that stores each operand type (booleans are bytes 0 or 1)."""

SCALAR_TYPES = frozenset((_T.FLOAT32, _T.INT32, _T.UINT32, _T.BOOL, _T.FLOAT16, _T.SUBGRAPH, _T.OEM))
QUANT8_ASYMM_TYPES = frozenset((_T.TENSOR_QUANT8_ASYMM, _T.TENSOR_QUANT8_ASYMM_SIGNED))
QUANTIZED_TYPES = QUANT8_ASYMM_TYPES | {_T.TENSOR_QUANT16_SYMM, _T.TENSOR_QUANT16_ASYMM, _T.TENSOR_QUANT8_SYMM}
"""Types with a positive per-tensor scale."""
SYMMETRIC_TYPES = frozenset((_T.TENSOR_QUANT16_SYMM, _T.TENSOR_QUANT8_SYMM, _T.TENSOR_QUANT8_SYMM_PER_CHANNEL))
"""Types with zero point 0."""

FLOAT32_TINY, FLOAT32_MAX = 2.0**-126, (2 - 2.0**-23) * 2.0**127
"""Smallest and largest scale."""
UINT32_MAX = 0xFFFFFFFF
"""Largest dimension, and most bytes of an operand."""

QUANT_RANGE = {
    _T.TENSOR_QUANT8_ASYMM: (0, 255), _T.TENSOR_QUANT8_ASYMM_SIGNED: (-128, 127), _T.TENSOR_QUANT8_SYMM: (-128, 127),
    _T.TENSOR_QUANT8_SYMM_PER_CHANNEL: (-128, 127), _T.TENSOR_QUANT16_SYMM: (-32768, 32767),
    _T.TENSOR_QUANT16_ASYMM: (0, 65535),
}
"""Lowest and highest code of each quantized type."""


OEM_TYPES = frozenset((_T.OEM, _T.TENSOR_OEM_BYTE))
EXTENSION_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")
"""What the name of a vendor extension looks like [NN 9.1]."""


class Definition:
    """What a device puts in the place of a code of a vendor extension: it says itself what the code means.

    name: for messages. A definition of an operand type has dtype and is_tensor.
    """


def is_extension(kind: Any) -> bool:
    """True for the code of an operand type or operation of a vendor extension [NN 1.7]."""
    return not isinstance(kind, Definition) and (int(kind) & 0xFFFFFFFF) >> 16 != 0


def is_raw(kind: Any) -> bool:
    """True for a type whose values only a vendor knows: constants of it are kept as bytes."""
    return kind in OEM_TYPES or is_extension(kind)


def dtype_of(kind: Any) -> typed.DType:
    """numpy dtype of an operand type."""
    return kind.dtype if isinstance(kind, Definition) else DTYPES[kind]


def type_name(kind: Any) -> str:
    """Name of an operand type, or the number itself where there is none."""
    return _name(_TYPE_NAMES, kind, "type")


def operation_name(kind: Any) -> str:
    """Name of an operation, or the number itself where there is none."""
    return _name(_OPERATION_NAMES, kind, "operation")


_TYPE_NAMES = {member.value: member.name for member in OperandType}
_OPERATION_NAMES = {member.value: member.name for member in OperationType}


def _name(names, kind, what):
    name = names.get(kind)
    if name is not None:
        return name
    if isinstance(kind, Definition):
        return kind.name
    if is_extension(kind):
        return f"extension {what} 0x{kind & 0xFFFFFFFF:08x}"
    return f"{what} {shown(kind)}"


@record(frozen=True, slots=True)
class ChannelQuant:
    """Per-channel scales of TENSOR_QUANT8_SYMM_PER_CHANNEL along dimension `dim` [NN 2.2]."""

    dim: int
    scales: tuple[float, ...]


@record(frozen=True, slots=True, eq=False)
class Operand:
    """One operand of a (sub)graph.

    dims: dimensions; () for scalars and for tensors of unknown rank, 0 = not known before execution.
    data: the value of a constant as a read-only array of dtype DTYPES[type] and shape dims, else None; for types of
    extensions and OEMs its bytes. subgraph: index into Model.referenced for lifetime SUBGRAPH, else None.
    parameters: bytes that go with a type of an extension (extraParams), else None.
    In the model of a prepared model a Definition takes the place of an extension's code; data are arrays of its dtype
    then, and parameters what it has read out of them.
    """

    type: int
    dims: tuple[int, ...] = ()
    scale: float = 0.0
    zero_point: int = 0
    lifetime: int = LifeTime.TEMPORARY_VARIABLE
    channel_quant: ChannelQuant | None = None
    data: typed.Array | None = field(default=None, repr=False)
    name: str = ""
    subgraph: int | None = None
    parameters: object = None

    @property
    def is_scalar(self) -> bool:
        kind = self.type
        return not kind.is_tensor if isinstance(kind, Definition) else kind in SCALAR_TYPES

    @property
    def is_constant(self) -> bool:
        return self.lifetime in CONSTANT_LIFETIMES

    @property
    def dtype(self) -> typed.DType:
        """numpy dtype of the stored values."""
        return dtype_of(self.type)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """dims with None for what is unknown; None as a whole when a tensor's rank is unknown."""
        if self.is_scalar:
            return ()
        dims = self.dims
        if not dims:
            return None
        return tuple(d or None for d in dims) if 0 in dims else tuple(dims)

    @property
    def nbytes(self) -> int | None:
        """Bytes of the value, or 0 when some dimension is unknown."""
        if not self.is_scalar and not self.dims:
            return 0
        return prod(self.dims) * self.dtype.itemsize


@record(frozen=True, slots=True)
class Operation:
    """One operation: type code, input and output operand indexes in its own (sub)graph."""

    type: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@record(frozen=True, slots=True)
class Subgraph:
    """Operands and the operations over them, in execution order; inputs and outputs are operand indexes."""

    operands: tuple[Operand, ...]
    operations: tuple[Operation, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@record(frozen=True, slots=True)
class State:
    """A value that a stream carries from call to call.

    input, output: positions in main.inputs and main.outputs; initial: first value, or None for the zero of its type.
    """

    input: int
    output: int
    initial: typed.Array | None = None


ARITHMETICS = "nnapi", "litert"
"""Whose integers a model computes, where the two differ: those of the standard, or of LiteRT's reference kernels."""


@record(frozen=True, slots=True)
class Signature:
    """Names that a model file gives to inputs and outputs under a key of its own.

    inputs, outputs: (name, position in main.inputs, main.outputs) of each; is_loaded: False for a signature of another
    subgraph of the file, which this model does not hold, and which has no positions here.
    """

    key: str
    inputs: tuple[tuple[str, int], ...] = ()
    outputs: tuple[tuple[str, int], ...] = ()
    is_loaded: bool = True


@record(frozen=True, slots=True, weakref_slot=True, repr=False)
class Model:
    """A whole model: main graph, subgraphs of IF and WHILE, and the relaxed-float32 flag.

    states: inputs and outputs that are fed back (TFLite variables); a caller of `run` does not see them.
    name: for messages. extensions: (name, prefix) of the vendor extensions whose codes it uses [NN 1.7].
    arithmetic: one of ARITHMETICS. signatures: those of the file that it came from. proof: what has been found right of
    this very model, once it was; origin: the file that it was made from (both: model/proof.py). No copy has them.
    """

    main: Subgraph
    referenced: tuple[Subgraph, ...] = ()
    relaxed: bool = False
    states: tuple[State, ...] = ()
    name: str = ""
    extensions: tuple[tuple[str, int], ...] = ()
    arithmetic: str = "nnapi"
    signatures: tuple[Signature, ...] = ()
    proof: object = field(default=None, init=False, compare=False)
    origin: object = field(default=None, init=False, compare=False)

    def save(self, path: typed.FilePath) -> None:
        """Write the model to a file that nnfast.load reads (docs/models.md). Raises InvalidArgument."""
        with importing:
            from .file import save

        save(self, path)

    def __repr__(self) -> str:
        values = [", ".join(f"{operand.name or index} {type_name(operand.type)}{list(operand.dims)}"
                            for index, operand in ((index, self.main.operands[index]) for index in indexes))
                  for indexes in (self.main.inputs, self.main.outputs)]
        count = counted(len(self.main.operations), "operation")
        return f"<Model {self.name or 'without a name'}: {count}, {' -> '.join(values)}>"

    def __copy__(self) -> Model:
        return replace(self)

    def with_main(self, **changes: Any) -> Model:
        """A copy whose main graph has the given fields replaced."""
        return replace(self, main=replace(self.main, **changes))
